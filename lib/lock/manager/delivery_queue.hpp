// Answers and notices that wait until what they depend on is as durable as it must be.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <rocklock/lock.hpp>
#include <rocklock/storage/storage.hpp>

#include "base/fifo.hpp"
#include "lock/manager/commit_dependency.hpp"
#include "lock/model/history_lookup.hpp"
#include "lock/table/lock_table.hpp"

namespace rocklock::manager {

// What a decision tells others than its caller.
struct Notifications {
    std::vector<LostNotice> lost;
    std::vector<WantedNotice> wanted;
    std::vector<SlowWait> slow;
};

// An answer or notices, and what they depend on. It is moved often.
struct Delivery {
    CommitDependency dependency;
    LockService::Completion done;
    std::optional<Result<Answer>> answer;
    // The answer is looked up in the history, under this ticket.
    std::optional<HistoryLookup> history;
    std::unique_ptr<Notifications> notifications;
    // Set for an acquire that was granted without waiting, if `timings` is on.
    std::optional<BootTime> acquired_at;
};

// Threads: one at a time.
class DeliveryQueue {
public:
    // Adds what depends on no commit: a refusal.
    void add_ready(Delivery delivery) { ready_.push_back(std::move(delivery)); }
    // Adds the rest, in the order of their commits.
    void add_committing(Delivery delivery) { committing_.push_back(std::move(delivery)); }

    bool empty() const { return ready_.empty() && committing_.empty(); }
    bool has_ready() const { return !ready_.empty(); }
    bool has_committing() const { return !committing_.empty(); }
    // How many deliveries one commit completes: those that wait now, or as many as last time.
    std::size_t group_size() const { return std::max(committing_.size(), last_group_); }

    // Becomes the one thread that delivers. Returns false if another thread does.
    bool begin();
    void end();

    // Takes the next delivery that can be made: one that is ready, or the first one whose commit is
    // done. `max_ready`, if given, is how many ready ones are taken yet; it is counted down.
    std::optional<Delivery> take(const Storage& storage, std::size_t* max_ready);

private:
    Fifo<Delivery> ready_;
    Fifo<Delivery> committing_;
    bool delivering_ = false;
    std::size_t size_at_begin_ = 0;
    std::size_t last_group_ = 0;
};

}  // namespace rocklock::manager
