// Adds many request ids to a RequestTable during recovery.
#pragma once

#include <cstddef>
#include <future>
#include <memory>
#include <vector>

#include "lock/model/request_table.hpp"

namespace rocklock::lock_model {

// Collects request ids, and adds them to a table in the order of the parts of the table. In another
// order, almost each id would need memory that is not in the processor's cache. A background thread
// adds them if there are many.
//
// From the first call of set() until finish() has returned, only this object may use the table.
//
// Threads:  one at a time.
// Lifetime: the table must outlive this object.
class RequestLoader {
public:
    // The number of collected ids that are added together.
    static constexpr std::size_t block = std::size_t{1} << 20;
    // Below this number, no thread is started.
    static constexpr std::size_t min_for_thread = 16'384;

    // As RequestTable::set(), but takes effect later.
    void set(RequestTable& table, const RequestKey& key, RequestOutcome outcome) {
        if (ids_ == nullptr) ids_ = std::make_unique<Ids>();
        ids_->parts[RequestTable::part_of(key)].push_back({key, outcome});
        if (++ids_->count == block) start(table);
    }
    // Starts to add the ids that were collected. finish() must still be called.
    void start(RequestTable& table);
    // Returns when the table contains all ids.
    void finish(RequestTable& table);

private:
    struct Id {
        RequestKey key;
        RequestOutcome outcome;
    };
    struct Ids {
        Ids() : parts(RequestTable::parts) {}

        std::size_t count = 0;
        std::vector<std::vector<Id>> parts;
    };

    void wait();
    static void add(RequestTable& table, const Ids& ids);

    std::unique_ptr<Ids> ids_;
    // The addition that runs in the background. Not valid() if none does.
    std::future<void> running_;
};

}  // namespace rocklock::lock_model
