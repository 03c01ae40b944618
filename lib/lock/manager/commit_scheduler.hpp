// The commits of the manager's decisions: which are the last ones, and which thread syncs them.
//
// Few commits are synced by the thread that flushes, since a change of threads would cost more than
// it gains. Commits for many answers, or for a slow device, are synced by the manager's thread, so
// that the flushing thread goes on reading and what comes meanwhile shares the next sync.
#pragma once

#include <chrono>
#include <optional>

#include <rocklock/clock.hpp>
#include <rocklock/storage/storage.hpp>

#include "lock/manager/commit_dependency.hpp"
#include "lock/table/lock_table.hpp"

namespace rocklock::manager {

// A deferred commit waits at most this long for another one to be written with.
inline constexpr std::chrono::milliseconds max_defer{1};

// Threads:  one at a time.
// Lifetime: borrows the storage.
class CommitScheduler {
public:
    // `usual`: what a commit is at most, unless it must be synced.
    CommitScheduler(Storage& storage, Durability usual) : storage_(storage), usual_(usual) {}

    // Enqueues the batch of a decision. Returns what an answer of this decision depends on. A
    // decision without a batch depends on those before it.
    CommitDependency enqueue(Decision& decision);
    // Enqueues a batch that no answer depends on.
    CommitDependency enqueue_deferred(Batch batch);

    // What an answer without a commit of its own depends on.
    CommitDependency current() const;
    // All commits up to now, written.
    CommitDependency all_written() const { return {last_, Durability::written}; }
    // All commits up to now, as they were enqueued: deferred ones are written, and not waited for.
    CommitDependency all_deferred() const { return {last_, Durability::deferred}; }
    // All commits up to now that must be synced.
    CommitDependency all_durable() const {
        return {last_durable_, Durability::durable, last_kept_};
    }
    CommitNumber last_kept() const { return last_kept_; }

    // Returns the reservation of numbers that has become durable since the last call.
    std::optional<ReservedNumbers> take_confirmed();
    // Returns the commit of the reservation that is not durable yet; 0 if there is none.
    CommitNumber unsynced_reservation() const;

    // Whether a commit waits for a sync.
    bool sync_is_pending() const { return !storage_.done(last_durable_, Durability::durable); }
    // Whether the thread that flushes makes a sync for so many answers itself.
    bool flusher_syncs(std::size_t answers, BootTime now) const;
    // A sync of the thread that flushes has taken so long.
    void note_sync(std::chrono::nanoseconds duration, BootTime end);

    // A deferred commit was enqueued by a request whose answer flush() delivers.
    void note_deferred(BootTime now) {
        if (!deferred_since_) deferred_since_ = now;
    }
    // How long flush() may leave the deferred commits unwritten: zero, they must be written now;
    // none, there are none.
    std::optional<std::chrono::milliseconds> may_defer_for(BootTime now);

private:
    struct Reservation {
        CommitNumber commit = 0;
        ReservedNumbers numbers;
    };

    Storage& storage_;
    const Durability usual_;
    CommitNumber last_ = 0;
    // The last one that must be synced, and the last one that must be written.
    CommitNumber last_durable_ = 0;
    CommitNumber last_kept_ = 0;
    // Until it is known to be durable.
    std::optional<Reservation> reservation_;
    // The mean duration of a sync, and until when the manager's thread makes them.
    std::chrono::nanoseconds sync_takes_{};
    BootTime slow_until_{};
    // Since when deferred commits may be left in the queue.
    std::optional<BootTime> deferred_since_;
};

}  // namespace rocklock::manager
