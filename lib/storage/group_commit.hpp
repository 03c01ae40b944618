// The commit queue of an engine. Many threads can commit. One of them at a time writes, and one
// sync makes all waiting commits durable.
//
// There is no committer thread. If there is no leader, the next caller of wait() becomes the
// leader. It takes all queued commits, or as many as fit into one write (Engine::room()), checks
// their preconditions in order, writes them together, and syncs if a waiter needs a sync. Then it
// wakes the waiters whose commits are complete. In an idle store, no work is handed over between
// threads. In a busy store, many commits share one sync.
//
//               wait(), no leader
//     idle ──────────────────────────────► leading: lead()
//      ▲                                     │ delay_and_take(): the queue; no mutex held
//      │                                     │   during the delay of a sync
//      │                                     ▼
//      │                                   write_group(): check, write, sync; no mutex held
//      │                                     │
//      │ no waiter parked,                   ▼
//      │ no deferred commit queued         finish_round(): finds done waiters, the next leader
//      └─────────────────────────────────────┤
//                                            ├─► leading, the same thread: another round, for
//                                            │   deferred commits, or for parked waiters that need
//                                            │   no sync
//                                            └─► leading, a parked thread: it needs a sync, or the
//                                                leader has led rounds_for_others rounds
//
// If the writes of an engine are slow (Engine::leaves_deferred()), the leader does not lead another
// round for deferred commits, and the state becomes idle. The engine then requests a call of
// write_deferred().
//
// Before a sync, the leader waits a short time for the threads whose commits the last sync has
// completed, so that their next commits share the sync (CommitDelay). A thread counts as arrived
// when it calls wait() for a durable commit, not when it enqueues one: a thread that serves many
// clients enqueues their commits before it waits, and no other thread would bring further ones. A
// leader that waits for a written commit does not delay.
//
// Invariants of each state:
//   idle      no waiter is parked. If commits are queued, wait() will still be called for at least
//             one of them, or write_deferred() will be called, and that call writes all of them
//   leading   exactly one thread uses the engine. The commits up to written_through() are applied
//             in order
//   failed    (permanently) the queue is empty, no waiter is parked, and no thread leads again
//
// A commit counts as complete when it has been checked, even if its preconditions did not hold.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <rocklock/storage/storage.hpp>

#include "base/mutex.hpp"
#include "base/parker.hpp"
#include "storage/commit_delay.hpp"

namespace rocklock {

// The operations that a leader needs from a store. One thread at a time calls them, except for
// concurrent calls of sync().
class Engine {
public:
    Engine() = default;
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;
    virtual ~Engine() = default;

    // Returns the version of the key's value, or nullopt if the key is absent.
    virtual Result<std::optional<std::uint64_t>> version(Family family, std::string_view key) = 0;

    // Applies these batches in order. A snapshot contains each batch completely or not at all. If
    // `sync` is true, then syncs everything that was written so far. May move the writes out of the
    // batches. After an error, any prefix of the batches may have been applied.
    virtual Result<void> write(std::span<Batch* const> batches, bool sync) = 0;

    // Syncs everything that was written and is not synced yet. If another process can take over the
    // store (Storage::must_confirm()), also confirms that this has not happened.
    virtual Result<void> sync() = 0;
    // The limits of one call of write().
    struct Room {
        std::size_t writes = std::numeric_limits<std::size_t>::max();
        // The size of the keys and values.
        std::size_t bytes = std::numeric_limits<std::size_t>::max();
    };
    // Returns the limits of write(). A batch that exceeds them is passed alone, and the engine must
    // divide it.
    virtual Room room() const { return {}; }
    // Whether another thread may call sync() while the leader writes or syncs.
    virtual bool syncs_concurrently() const { return false; }

    // Returns whether a leader returns when its own commit is done, even if deferred commits are
    // queued. This is useful if a write is slow, because otherwise the caller of the leader waits
    // for another write.
    virtual bool leaves_deferred() const { return false; }
    // Called after a leader has left deferred commits in the queue. A thread must call
    // GroupCommit::write_deferred() soon.
    virtual void deferred_left() {}

    // Called at the first failure, before any caller is notified of the failure.
    virtual void failed(const Error& error) = 0;
};

// Threads:  thread-safe.
// Lifetime: borrows the engine and the clock.
class GroupCommit {
public:
    // If `durable_when_written` is true, a written commit counts as durable: write() returns after
    // the writes are durable.
    GroupCommit(Engine& engine, Clock& clock, bool durable_when_written);

    // Implement the functions of Storage with the same names.
    CommitNumber enqueue(Batch batch, Durability durability, Verdict* verdict);
    Result<void> wait(CommitNumber number, Durability durability);
    Result<void> sync_through(CommitNumber number);
    bool done(CommitNumber number, Durability durability) const;
    std::optional<Error> failure() const;

    // Fails the store permanently, as a failed write does. Called when a reader finds damage in the
    // lock state.
    void fail(const Error& error);

    // Makes all queued commits durable. Later commits fail with `closing`.
    Result<void> close();

    // Used by tests that determine the order of events. Executes one round on the calling thread:
    // checks and writes the first `limit` queued commits, and if `sync` is true, syncs everything
    // that was written. No thread may be leading.
    Result<void> step(std::size_t limit, bool sync);

    // Writes the queue if it contains deferred commits, unless another thread will do so: one that
    // is writing now, or the caller of a queued commit that is not deferred. An error fails the
    // store.
    void write_deferred();
    // Implements Storage::one_write_through() for an engine that limits the size of a write.
    CommitNumber one_write_through() const;
    std::size_t queued() const;
    CommitNumber written_through() const { return written_.load(std::memory_order_acquire); }
    CommitNumber synced_through() const { return synced_.load(std::memory_order_acquire); }

private:
    struct Pending {
        Batch batch;
        Verdict* verdict;
        bool deferred;
    };
    // Allocated on the stack of the waiting thread, which is parked in `parker`.
    struct Waiter {
        CommitNumber number;
        Durability durability;
        Waiter* next = nullptr;
        Parker parker{};
    };
    // A FIFO list.
    struct WaiterList {
        Waiter* first = nullptr;
        Waiter* last = nullptr;
        void push(Waiter* waiter);
        void push_front(Waiter* waiter);
        Waiter* pop();
        Waiter* pop_deferred();
    };
    struct Key {
        Family family;
        std::string_view bytes;
        bool operator==(const Key&) const = default;
    };
    struct KeyHash {
        std::size_t operator()(const Key& key) const noexcept;
    };
    // The commits that one round has taken from the queue.
    struct Group {
        std::vector<Pending> commits;
        CommitNumber through = 0;
        bool sync = false;
        // The number of calls of wait() for a sync that had arrived when the group was taken. The
        // sync of this group completes all of them.
        std::uint64_t arrived = 0;
    };
    // The waiters that are notified after a round. `successor` becomes the next leader. If there is
    // no successor and `leader_continues` is true, the same leader leads another round.
    struct Outcome {
        WaiterList done;
        WaiterList failed;
        Waiter* successor = nullptr;
        bool leader_continues = false;
        // Whether deferred commits remain in the queue, and no thread leads.
        bool leaves_deferred = false;
    };

    bool passed(CommitNumber number, Durability durability) const;
    Result<void> lead(Group group, CommitNumber own, Durability durability);
    Group delay_and_take(Durability durability) ROCKLOCK_REQUIRES(mutex_);
    bool will_sync(bool may_sync) const ROCKLOCK_REQUIRES(mutex_);
    void delay_sync() ROCKLOCK_REQUIRES(mutex_);
    Group take(std::size_t limit, bool may_sync) ROCKLOCK_REQUIRES(mutex_);
    std::size_t fitting(std::size_t limit) const ROCKLOCK_REQUIRES(mutex_);
    Result<void> write_group(Group& group);
    Result<std::optional<Error>> judge_commit(const Group& group, std::size_t index, BootTime now);
    void remember_writes(const Batch& batch);
    void advance(const Group& group) ROCKLOCK_REQUIRES(mutex_);
    // Removes the parked waiters with completed commits and returns them.
    WaiterList take_done() ROCKLOCK_REQUIRES(mutex_);
    bool sync_parked() const ROCKLOCK_REQUIRES(mutex_);
    Outcome finish_round(const Group& group, const Result<void>& written, bool owed, bool hand_over)
        ROCKLOCK_REQUIRES(mutex_);
    void fail_now(const Error& error) ROCKLOCK_REQUIRES(mutex_);
    Error failure_error() const ROCKLOCK_EXCLUDES(mutex_);

    Engine& engine_;
    Clock& clock_;
    const bool durable_when_written_;

    mutable Mutex mutex_;
    std::vector<Pending> queue_ ROCKLOCK_GUARDED_BY(mutex_);
    // An empty vector, whose memory the next leader reuses.
    std::vector<Pending> spare_ ROCKLOCK_GUARDED_BY(mutex_);
    CommitNumber last_ ROCKLOCK_GUARDED_BY(mutex_) = 0;
    std::size_t deferred_queued_ ROCKLOCK_GUARDED_BY(mutex_) = 0;
    // The last commit for which a sync was requested.
    CommitNumber sync_wanted_ ROCKLOCK_GUARDED_BY(mutex_) = 0;
    WaiterList parked_ ROCKLOCK_GUARDED_BY(mutex_);
    CommitDelay delay_ ROCKLOCK_GUARDED_BY(mutex_);
    // A failure that another thread has reported while a leader is active. The leader applies the
    // failure after its round, since it may still be writing results.
    std::optional<Error> found_ ROCKLOCK_GUARDED_BY(mutex_);
    std::optional<Error> failure_ ROCKLOCK_GUARDED_BY(mutex_);

    // Changed only while the mutex is held. Read without the mutex.
    std::atomic<bool> leading_{false};
    std::atomic<bool> failed_{false};
    // Set by a leader that has led enough rounds for other threads but found no parked waiter. The
    // next caller with a deferred commit then becomes the leader.
    std::atomic<bool> relief_wanted_{false};
    std::atomic<CommitNumber> written_{0};
    std::atomic<CommitNumber> synced_{0};

    // The number of calls of wait() that were made for a sync, except for those whose commit had
    // already been taken for a sync. These calls wait for a sync in progress and must not count for
    // the next one.
    std::atomic<std::uint64_t> arrived_{0};
    // The last commit that was taken for a sync.
    std::atomic<CommitNumber> taken_for_sync_{0};

    // Used only by the leader. `accepted_` contains the batches to write, and `overlay_` the
    // versions that they will have written (nullopt for a deleted key). In a group without
    // preconditions, no versions are collected.
    std::vector<Batch*> accepted_;
    std::unordered_map<Key, std::optional<std::uint64_t>, KeyHash> overlay_;
    std::size_t overlaid_ = 0;
};

}  // namespace rocklock
