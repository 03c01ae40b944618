// Schedules the commits of the manager's decisions: keeps the numbers of the last ones, and
// determines which thread syncs them.
//
// If few responses wait, the thread that flushes makes the sync, since a switch of threads would
// cost more than it gains. If many responses wait, or the device is slow, the manager's thread
// makes the sync, so that the flushing thread continues to read and requests that arrive meanwhile
// share the next sync.
#pragma once

#include <chrono>
#include <optional>

#include <rocklock/clock.hpp>
#include <rocklock/storage/storage.hpp>

#include "lock/manager/commit_dependency.hpp"
#include "lock/table/lock_table.hpp"

namespace rocklock::manager {

// A deferred commit waits at most this long to be written together with another commit.
inline constexpr std::chrono::milliseconds max_defer{1};

// Threads:  one at a time.
// Lifetime: borrows the storage.
class CommitScheduler {
public:
    // Commits have at most the durability `max_durability`, except those that must be synced
    // (Decision::synced).
    CommitScheduler(Storage& storage, Durability max_durability)
        : storage_(storage), max_durability_(max_durability) {}

    // Enqueues the batch of a decision. Returns the commits on which a response of this decision
    // depends. A decision without a batch depends on the earlier ones.
    CommitDependency enqueue(Decision& decision);
    // Enqueues a batch on which no response depends.
    CommitDependency enqueue_deferred(Batch batch);

    // Returns the commits on which a response without its own commit depends.
    CommitDependency current() const;
    // Returns a dependency that is done if all commits up to now have been written.
    CommitDependency all_written() const { return {last_, Durability::written}; }
    // Returns a dependency on all commits up to now. It always counts as done, but a thread that
    // waits for it writes these commits, including deferred ones.
    CommitDependency all_deferred() const { return {last_, Durability::deferred}; }
    // Returns a dependency on all commits up to now with the durability that each of them needs.
    CommitDependency all_durable() const {
        return {last_durable_, Durability::durable, last_kept_};
    }
    CommitNumber last_kept() const { return last_kept_; }

    // Returns the reservation of numbers if it has become durable since the last call.
    std::optional<ReservedNumbers> take_confirmed();
    // Returns the commit of the reservation that is not durable yet; 0 if there is none.
    CommitNumber unsynced_reservation() const;

    // Returns whether a commit waits for a sync.
    bool sync_is_pending() const { return !storage_.done(last_durable_, Durability::durable); }
    // Returns whether the flushing thread should make a sync for this many responses itself.
    bool flusher_syncs(std::size_t answers, BootTime now) const;
    // Records the duration of a sync that the flushing thread has made.
    void note_sync(std::chrono::nanoseconds duration, BootTime end);

    // Called when a request with a response that flush() delivers has enqueued a deferred commit.
    void note_deferred(BootTime now) {
        if (!deferred_since_) deferred_since_ = now;
    }
    // Returns for how long flush() may leave the deferred commits unwritten; zero if they must be
    // written now. Returns nullopt if there are no deferred commits.
    std::optional<std::chrono::milliseconds> may_defer_for(BootTime now);

private:
    struct Reservation {
        CommitNumber commit = 0;
        ReservedNumbers numbers;
    };

    Storage& storage_;
    const Durability max_durability_;
    CommitNumber last_ = 0;
    // The last commit that must be synced, and the last one that must at least be written.
    CommitNumber last_durable_ = 0;
    CommitNumber last_kept_ = 0;
    // Set until the reservation is known to be durable.
    std::optional<Reservation> reservation_;
    // The mean duration of a sync, and the time until which the manager's thread makes all syncs.
    std::chrono::nanoseconds sync_takes_{};
    BootTime slow_until_{};
    // The time since which deferred commits may be in the queue.
    std::optional<BootTime> deferred_since_;
};

}  // namespace rocklock::manager
