// Adds many request ids to a RequestTable during recovery.
#pragma once

#include <cstddef>
#include <future>
#include <memory>
#include <vector>

#include "lock/model/request_table.hpp"

namespace rocklock::lock_model {

// Collects request ids, and adds them to a table in the order of the parts of the table. In another
// order, almost every id would access memory that is not in the processor's cache. A background
// thread adds them if there are many.
//
// All calls must pass the same table. From the first call of set() until finish() has returned,
// only this object may use the table. The destructor waits for an addition that is running, and
// drops the ids that were collected after it.
//
// Threads:  one at a time.
// Lifetime: the table must outlive this object.
class RequestLoader {
public:
    // The maximum number of ids that are collected before they are added.
    static constexpr std::size_t max_batch = std::size_t{1} << 20;
    // If a batch has fewer ids, no thread is started.
    static constexpr std::size_t min_for_thread = 16'384;

    RequestLoader() = default;
    explicit RequestLoader(std::size_t batch) : max_batch_(batch) {}

    // As RequestTable::set(), but takes effect later.
    void set(RequestTable& table, const RequestKey& key, RequestOutcome outcome) {
        if (batch_ == nullptr) batch_ = std::make_unique<Batch>();
        batch_->parts[RequestTable::part_of(key)].push_back({key, outcome});
        if (++batch_->count == max_batch_) start(table);
    }
    // Waits until the previous batch has been added, and starts to add the ids that were collected
    // since. finish() must still be called.
    void start(RequestTable& table);
    // Adds the remaining ids, and waits until the table contains all ids.
    void finish(RequestTable& table);

private:
    struct Entry {
        RequestKey key;
        RequestOutcome outcome;
    };
    struct Batch {
        Batch() : parts(RequestTable::parts) {}

        std::size_t count = 0;
        // The entries of each part of the table.
        std::vector<std::vector<Entry>> parts;
    };

    void wait();
    static void add(RequestTable& table, const Batch& batch);

    std::size_t max_batch_ = max_batch;
    std::unique_ptr<Batch> batch_;
    // The addition in the background. Not valid() if none is running.
    std::future<void> running_;
};

}  // namespace rocklock::lock_model
