// The queue in front of an engine: many callers, one writer at a time, one sync for all that wait.
//
// There is no committer thread. Whoever waits while nobody writes becomes the leader: takes all
// that is queued, judges it in order, writes it as one, syncs if anyone asked for that, and wakes
// those who are done and nobody else. An idle store thus costs its caller no hand-over, and a busy
// one shares the sync.
//
//               wait(), nobody leads
//     idle ──────────────────────────────► leading: lead()
//      ▲                                     │ take(): the queue
//      │                                     ▼
//      │                                   write_group(): judge, write, sync; no mutex held
//      │                                     │
//      │ nobody parked,                      ▼
//      │ no deferred commit queued         finish_round(): who is done, who leads next
//      └─────────────────────────────────────┤
//                                            ├─► leading, the same thread: another round, for
//                                            │   deferred commits, or small ones of the parked
//                                            └─► leading, a parked thread: it wants a sync, or
//                                                this one has led for others long enough
//
// What holds in each state:
//   idle      no waiter is parked, and no commit is queued whose wait() has been called: nothing is
//             left that nobody will write
//   leading   exactly one thread uses the engine; numbers up to `written_through` are applied in
//             order
//   failed    (once, and for ever) nothing is queued, nothing is parked, nobody leads again
//
// A commit counts as passed once it is judged, whether its preconditions held or not.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <rocklock/storage/storage.hpp>

#include "base/mutex.hpp"
#include "base/parker.hpp"

namespace rocklock {

// What a leader needs of a store. Called by one thread at a time, but for concurrent syncs.
class Engine {
public:
    Engine() = default;
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;
    virtual ~Engine() = default;

    // The version of the key's value; nothing when it is absent.
    virtual Result<std::optional<std::uint64_t>> version(Family family, std::string_view key) = 0;

    // Applies these batches in order, so that readers see each of them wholly or not at all; and
    // then syncs, if asked to, all that was ever written. After an error any prefix of them may
    // have happened.
    virtual Result<void> write(std::span<Batch* const> batches, bool sync) = 0;

    // Syncs what was written without.
    virtual Result<void> sync() = 0;
    // Whether another thread may call sync() while the leader writes or syncs.
    virtual bool syncs_concurrently() const { return false; }

    // Hears of the first failure, before anyone else does.
    virtual void failed(const Error& error) = 0;
};

// Threads:  thread-safe.
// Lifetime: borrows the engine and the clock.
class GroupCommit {
public:
    // `durable_when_written`: the engine has no disk, and a write is all the durability there is.
    GroupCommit(Engine& engine, Clock& clock, bool durable_when_written);

    // These five are Storage's.
    CommitNumber enqueue(Batch batch, Durability durability, Verdict* verdict);
    Result<void> wait(CommitNumber number, Durability durability);
    Result<void> sync_through(CommitNumber number);
    bool done(CommitNumber number, Durability durability) const;
    std::optional<Error> failure() const;

    // Fails closed, as the first failed write does. Used for a corruption found by a reader.
    void fail(const Error& error);

    // Waits for all that is queued, durably. What comes afterwards fails with `closing`.
    Result<void> close();

    // One round by hand, for whoever decides himself when things happen: judges and writes the
    // first `limit` queued commits, and syncs all that is written if asked to. Nobody may be
    // leading.
    Result<void> step(std::size_t limit, bool sync);

    std::size_t queued() const;
    CommitNumber written_through() const { return written_.load(std::memory_order_acquire); }
    CommitNumber synced_through() const { return synced_.load(std::memory_order_acquire); }

private:
    struct Pending {
        Batch batch;
        Verdict* verdict;
        bool deferred;
    };
    // Lives on the stack of the thread that is parked in it.
    struct Waiter {
        CommitNumber number;
        Durability durability;
        Waiter* next = nullptr;
        Parker parker{};
    };
    // First in, first out.
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
    // What was taken from the queue, and what became of it.
    struct Group {
        std::vector<Pending> commits;
        CommitNumber through = 0;
        bool sync = false;
    };
    // Who is told what after a round.
    struct Outcome {
        WaiterList done;
        WaiterList failed;
        Waiter* successor = nullptr;
        bool go_on = false;
    };

    bool passed(CommitNumber number, Durability durability) const;
    Result<void> lead(Group group);
    Group take(std::size_t limit, bool may_sync) ROCKLOCK_REQUIRES(mutex_);
    Result<void> write_group(Group& group);
    Result<std::optional<Error>> judge_commit(const Group& group, std::size_t index, BootTime now);
    void remember_writes(const Batch& batch);
    void advance(const Group& group) ROCKLOCK_REQUIRES(mutex_);
    // Parts the parked into those who are done and those who wait on.
    WaiterList take_done() ROCKLOCK_REQUIRES(mutex_);
    bool sync_parked() const ROCKLOCK_REQUIRES(mutex_);
    Outcome finish_round(const Group& group, const Result<void>& written, bool hand_over)
        ROCKLOCK_REQUIRES(mutex_);
    void fail_now(const Error& error) ROCKLOCK_REQUIRES(mutex_);
    Error failure_error() const ROCKLOCK_EXCLUDES(mutex_);

    Engine& engine_;
    Clock& clock_;
    const bool durable_when_written_;

    mutable Mutex mutex_;
    std::vector<Pending> queue_ ROCKLOCK_GUARDED_BY(mutex_);
    // An emptied vector with its memory, for the next leader.
    std::vector<Pending> spare_ ROCKLOCK_GUARDED_BY(mutex_);
    CommitNumber last_ ROCKLOCK_GUARDED_BY(mutex_) = 0;
    std::size_t deferred_queued_ ROCKLOCK_GUARDED_BY(mutex_) = 0;
    // The last commit that must be synced.
    CommitNumber sync_wanted_ ROCKLOCK_GUARDED_BY(mutex_) = 0;
    WaiterList parked_ ROCKLOCK_GUARDED_BY(mutex_);
    // A failure found by somebody else while a leader is at work, who may still be leaving
    // verdicts.
    std::optional<Error> found_ ROCKLOCK_GUARDED_BY(mutex_);
    std::optional<Error> failure_ ROCKLOCK_GUARDED_BY(mutex_);

    // Changed with the mutex held, read without.
    std::atomic<bool> leading_{false};
    std::atomic<bool> failed_{false};
    // A leader who has served others for long asks the next deferred caller to take over.
    std::atomic<bool> relief_wanted_{false};
    std::atomic<CommitNumber> written_{0};
    std::atomic<CommitNumber> synced_{0};

    // The leader's own: the batches to write, and what they will have written (absent: deleted).
    // The latter is filled from the first commit on that has preconditions.
    std::vector<Batch*> accepted_;
    std::unordered_map<Key, std::optional<std::uint64_t>, KeyHash> overlay_;
    std::size_t overlaid_ = 0;
};

}  // namespace rocklock
