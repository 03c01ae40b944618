// Schedules the commits of the manager's decisions: keeps the numbers of the last commits, and
// determines which thread syncs them.
//
// If few responses wait, the thread that calls flush() (the flushing thread) syncs, because a
// switch to another thread would cost more than it gains. If many responses wait, or if the device
// is slow, the manager's thread syncs. The flushing thread can then read further requests, which
// share the next sync.
#pragma once

#include <chrono>
#include <optional>

#include <rocklock/clock.hpp>
#include <rocklock/storage/storage.hpp>

#include "lock/manager/commit_dependency.hpp"
#include "lock/table/lock_table.hpp"
#include "storage/commit_delay.hpp"

namespace rocklock::manager {

// The maximum time for which a deferred commit waits to be written together with another commit.
inline constexpr std::chrono::milliseconds max_defer{1};

// The longest delay of a commit, divided by the mean duration of a commit (CommitDelay). Decisions
// 0053 and 0068 compare several values.
inline constexpr double delay_share = 1.5;
// A commit is not delayed if the last one has completed fewer responses.
inline constexpr std::uint64_t min_delayed_group = 3;

// Threads:  one at a time.
// Lifetime: borrows the storage.
class CommitScheduler {
public:
    // `max_durability` limits the durability of all commits, except those that must be synced
    // (Decision::synced).
    CommitScheduler(Storage& storage, Durability max_durability)
        : storage_(storage),
          max_durability_(max_durability),
          must_confirm_(storage.must_confirm()),
          delay_(delay_share, min_delayed_group) {}

    // Enqueues the batch of a decision. Returns the commits on which the responses of this decision
    // depend. If the decision has no batch, they depend on the earlier commits, and on a
    // confirmation if confirms() is true.
    CommitDependency enqueue(Decision& decision);
    // Enqueues a batch on which no response depends.
    CommitDependency enqueue_deferred(Batch batch);

    // Returns whether a response that depends on no commit after its request must wait for a
    // confirmation (Storage::must_confirm()).
    bool confirms() const { return must_confirm_; }
    // Returns the commits on which a response without its own commit depends. If confirms() is
    // true, enqueues a confirmation, and the response depends on it.
    CommitDependency current();
    // Returns a dependency that is done when all commits up to now have been written.
    CommitDependency all_written() const { return {last_, Durability::written}; }
    // Returns a dependency on all commits up to now, including deferred ones. For this dependency,
    // done() always returns true, but Storage::wait() causes the commits to be written.
    CommitDependency all_deferred() const { return {last_, Durability::deferred}; }
    // Returns a dependency that is done when each commit up to now is as durable as it must be.
    CommitDependency all_durable() const {
        return {last_durable_, Durability::durable, last_kept_};
    }
    CommitNumber last_kept() const { return last_kept_; }

    // Returns the last reservation of numbers if it has become durable since the last call.
    std::optional<ReservedNumbers> take_confirmed();
    // Returns the commit of a reservation that is not yet durable, or 0 if there is none.
    CommitNumber unsynced_reservation() const;

    // Returns whether a commit waits for a sync.
    bool sync_is_pending() const { return !storage_.done(last_durable_, Durability::durable); }
    // Returns whether the flushing thread, and not the manager's thread, should sync if this many
    // responses wait.
    bool flusher_syncs(std::size_t answers, BootTime now) const;
    // Records the duration of a sync by the flushing thread.
    void note_sync(std::chrono::nanoseconds duration, BootTime end);

    // Records that a deferred commit was enqueued and that flush() will answer its request. flush()
    // must therefore also write the commit in time; see may_defer_for().
    void note_deferred(BootTime now) {
        if (!deferred_since_) deferred_since_ = now;
    }
    // The delays of the commits of the manager's thread.
    CommitDelay& delay() { return delay_; }

    // Returns the time for which flush() may leave the deferred commits unwritten; zero if they
    // must be written now. Returns nullopt if there are no deferred commits.
    std::optional<std::chrono::milliseconds> may_defer_for(BootTime now);

private:
    CommitDependency earlier() const;

    struct Reservation {
        CommitNumber commit = 0;
        ReservedNumbers numbers;
    };

    Storage& storage_;
    const Durability max_durability_;
    const bool must_confirm_;
    CommitNumber last_ = 0;
    // The last commit that must be synced, and the last commit that must at least be written.
    CommitNumber last_durable_ = 0;
    CommitNumber last_kept_ = 0;
    // Set until the reservation is known to be durable.
    std::optional<Reservation> reservation_;
    // The mean duration of a sync, and, after slow syncs, the time until which only the manager's
    // thread syncs.
    std::chrono::nanoseconds sync_takes_{};
    BootTime slow_until_{};
    CommitDelay delay_;
    // The time since which deferred commits may be in the queue.
    std::optional<BootTime> deferred_since_;
};

}  // namespace rocklock::manager
