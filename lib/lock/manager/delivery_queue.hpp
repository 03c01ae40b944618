// The queue of responses and notices that wait until the commits on which they depend are as
// durable as required.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include <rocklock/lock.hpp>
#include <rocklock/storage/storage.hpp>

#include "lock/manager/commit_dependency.hpp"
#include "lock/manager/server_service.hpp"
#include "lock/model/history_lookup.hpp"
#include "lock/table/lock_table.hpp"

namespace rocklock::manager {

// The notices to sessions that a decision has caused, and its reports of slow waits.
struct Notifications {
    std::vector<LostNotice> lost;
    std::vector<WantedNotice> wanted;
    std::vector<AnsweredNotice> answered;
    std::vector<SlowWait> slow;
};

// A response or notices, and the commits on which they depend.
struct Delivery {
    CommitDependency dependency;
    // The receiver of a response that was already passed on (ServerService::decide_now()), and the
    // id of the response. Null for all other deliveries.
    std::shared_ptr<ResponseReceiver> receiver;
    std::uint64_t id = 0;
    // Whether the response is an error.
    bool refused = false;
    LockService::Completion done;
    std::optional<Result<Answer>> answer;
    // If set, the response must first be looked up in the history. The result of the lookup then
    // completes the request with the ticket in HistoryLookup::ticket.
    std::optional<HistoryLookup> history;
    std::unique_ptr<Notifications> notifications;
    // Set for an acquire that was granted without waiting, if `timings` is on.
    std::optional<BootTime> acquired_at;

    // Makes the delivery empty, so that it can be used again.
    void clear();
};

// Threads: one at a time.
//
// The deliveries are elements of lists and are reused, because it would be slow to move such large
// objects several times for each call.
class DeliveryQueue {
public:
    using Batch = std::list<Delivery>;

    // Adds an empty delivery, which the caller must fill before the queue is used again. For
    // responses that need not wait for a commit: refusals, and responses with Durability::deferred.
    Delivery& add_ready() { return add_to(ready_); }
    // As add_ready(), but the delivery depends on a commit. Such deliveries must be added in the
    // order of their commits.
    Delivery& add_committing() {
        ++added_;
        return add_to(committing_);
    }
    // Returns how often add_committing() was called.
    std::uint64_t added() const { return added_; }
    // Returns how many of these deliveries depend on commits that are done.
    std::uint64_t completed(const Storage& storage) const;

    bool empty() const { return ready_.empty() && committing_.empty(); }
    bool has_ready() const { return !ready_.empty(); }
    bool has_committing() const { return !committing_.empty(); }
    // Returns an estimate of the number of deliveries that the next sync will complete: the number
    // that wait for a commit now or the number that the last sync has completed, whichever is
    // greater.
    std::size_t group_size() const { return std::max(committing_.size(), last_group_); }

    // Makes the caller the only delivering thread, until end(). Returns false if another thread is
    // delivering.
    bool begin();
    void end();

    // Returns the next deliveries that are possible, at most `max_batch`: first those that are
    // ready, and then those whose commits are done. If `max_ready` is not null, it is the number of
    // ready deliveries that may still be taken, and is decremented for each.
    Batch take(const Storage& storage, std::size_t* max_ready);
    // Takes back deliveries of take(), which must be empty, and keeps some of them for reuse.
    void give_back(Batch& batch);

private:
    static constexpr std::size_t max_unused = 1024;
    // Limits how long a delivery that becomes ready waits for others.
    static constexpr std::size_t max_batch = 1024;

    Delivery& add_to(Batch& queue);

    Batch ready_;
    Batch committing_;
    Batch unused_;
    std::uint64_t added_ = 0;
    bool delivering_ = false;
    std::size_t size_at_begin_ = 0;
    std::size_t last_group_ = 0;
};

}  // namespace rocklock::manager
