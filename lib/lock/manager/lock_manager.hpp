// The lock manager: the lock table together with a clock, a storage and threads.
//
//     submit(request) ─► with the mutex:  read the clock, table.apply(), storage.enqueue(batch)
//                     ─► without it:      the storage makes the batch durable
//                     ─► completions and notices, in the order of the decisions
//
// The mutex orders decisions, and the storage's queue keeps that order, so the recovered state is
// always the result of a prefix of the decisions. No I/O happens while the mutex is held. A
// deferred batch (a release) stays in the queue and is written together with the next batch. If no
// batch follows within a millisecond, the manager's thread writes it.
//
// A refusal depends on decided state only and is delivered immediately. Grants, replays and notices
// are delivered after their commit is as durable as the request demands. show() and list() wait for
// the commits of what they return. If a commit fails, every later decision fails too, and this
// manager grants no more locks (fail closed).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <rocklock/clock.hpp>
#include <rocklock/lock.hpp>
#include <rocklock/storage/storage.hpp>

#include "lock/manager/server_service.hpp"
#include "lock/model/lock_query.hpp"
#include "lock/table/lock_table.hpp"

namespace rocklock {

struct LockManagerOptions {
    // `written` lowers the default durability of requests.
    Durability durability = Durability::durable;
    // Whether the manager starts its own thread, which makes asynchronous commits durable, wakes
    // waiters by time and cleans up. If false, the caller must call tick(), or decide_due() and
    // deliver_done().
    bool background = true;
    // The store was restored from a copy: its sessions and grants are ended, and tokens continue
    // above all that may have been used since the copy was made.
    bool restored = false;
    // Returns random session ids. If null, the system's random numbers are used.
    std::function<SessionId()> session_ids;
    // Records of ended grants are deleted after `history_age`. If there are more than
    // `history_records`, they are deleted earlier, but not before ten minutes and the lease of the
    // session have passed, so that a repeated request finds them.
    std::chrono::milliseconds history_age = std::chrono::hours{24};
    std::uint64_t history_records = 1'000'000;
    // The number of events that are kept for watchers. If 0, no events are made.
    std::size_t events_kept = 0;
    // Whether the duration of acquires is measured, which reads the clock twice for each.
    bool timings = false;
    // A wait that lasts this long is reported once, while it waits. Zero: never. on_slow_wait() is
    // called in the same way as the callback of on_lost().
    std::chrono::milliseconds slow_wait{0};
    std::function<void(const SlowWait&)> on_slow_wait;
    LockTableOptions table;
};

// If two marks are equal, no exclusive lock was granted or ended between them.
struct ReadMark {
    std::uint64_t changes = 0;
    // Whether any resource is held in `exclusive`.
    bool any = false;
    friend bool operator==(const ReadMark&, const ReadMark&) = default;
};

// The resources of a plain read, and the reading session if there is one.
struct PlainRead {
    std::vector<std::string> resources;
    std::optional<SessionId> reader;
    bool strict = false;
};

// Threads:    thread-safe.
// Lifetime:   borrows `storage` and `clock`; both must outlive it.
// Durability: depends on the request; see the table in docs/semantics.md.
class LockManager final : public ServerService {
public:
    // Recovers the table and starts the manager. Errors: corrupt, and those of the storage:
    // io_error, no_space, read_only.
    static Result<std::unique_ptr<LockManager>> open(Storage& storage, Clock& clock,
                                                     LockManagerOptions options = {});
    // Calls close().
    ~LockManager() override;

    Ticket submit(Request request, Completion done) override;
    Ticket enqueue(Request request, Completion done) override;
    std::optional<std::chrono::milliseconds> flush() override;
    void on_flush_needed(std::function<void()> notify) override;
    void cancel(Ticket ticket) override;
    void disconnect(Disconnect disconnected) override;
    void note_token(const SessionId& session, Token token) override;
    Result<Answer> call(Request request, std::stop_token stop = {}) override;

    Result<LockView> show(std::string_view resource) override;
    Result<LockPage> list(const ListLocks& request) override;
    Result<std::vector<SessionView>> sessions(std::string_view principal) override;
    Result<std::vector<Grant>> grants(const SessionId& session) override;
    Result<SessionInfo> authenticate(const SessionId& session, const Secret& secret) override;
    bool holds(const SessionId& session, std::string_view resource, Mode mode) override;
    std::vector<LockClass> classes() override;
    std::vector<WaitEdge> wait_graph() override;
    std::vector<Deadlock> recent_deadlocks() override;
    Result<std::vector<AuditRow>> audit(std::uint64_t after, std::uint32_t limit) override;
    LockStatistics statistics() override;
    void on_stall(std::function<void()> notify,
                  std::function<std::chrono::nanoseconds()> unread_for = {}) override;
    void resume() override;
    Result<Outliers> outliers(std::uint32_t limit) override;
    Result<HistoryPage> history(const HistoryRequest& request) override;
    Result<EventPage> watch(const WatchRequest& request, std::stop_token stop = {}) override;
    Ticket submit_watch(WatchRequest request, WatchCompletion done) override;

    // Returns one result for each key, in the same order, all as of the same time. The results are
    // committed when this returns. Errors: those of the storage.
    Result<std::vector<LookupResult>> lookup(const std::vector<LookupKey>& keys);
    // Returns held locks in the order of their keys, like list(). If the table has at most 2,048
    // locks, the result is a consistent state. Errors: those of the storage.
    Result<InRange<Holder>> held(HeldSearch search);
    // Returns the kept events in the order of their keys. Events that are dropped during the search
    // may be missing. Errors: invalid_argument if no events are kept; those of the storage.
    Result<InRange<LockEvent>> events(EventSearch search);
    // Returns the events with these sequences, in the same order; nullopt for each that is not
    // kept.
    Result<std::vector<std::optional<LockEvent>>> events_at(
        const std::vector<std::uint64_t>& sequences);

    // Returns the grant that permits a write to bound items. The fence is valid as long as the
    // record of the grant has this version, and until the time `until`. Both must be preconditions
    // of the write's commit, and the fence must not be used for another commit.
    //
    // `drafts_of` is set to the principal for which the write should be kept as a draft: if the
    // token belongs to a grant that covered the resource but has expired, or was stolen or broken,
    // and the class keeps drafts. Otherwise it is not changed.
    //
    // Errors: lock_required  the session holds no lock that covers the resource in write or
    //                        exclusive, or the token belongs to another session. Facts: blockers
    //         stale_token    the grant or its session has ended. Facts: ended, blockers
    //         those of the storage
    Result<Fence> fence(const FenceRequest& request, std::string* drafts_of = nullptr);
    // Returns the error for a write that presents no guard: lock_required.
    Error lock_missing(std::string_view resource);

    // Returns the mark that a plain read must take before it reads. Locks no mutex.
    ReadMark read_mark() const;
    // Called after the read. Returns true if its result may be returned to the client. Returns
    // false if one of the resources has been locked in exclusive, or freed, since `mark`: then read
    // again.
    //
    // Errors: locked         another session holds one of them in exclusive. Facts: blockers
    //         lock_required  `strict` is set, one of the resources has the policy exclusive_read,
    //                        and the reader does not hold it
    Result<bool> check_read(const ReadMark& mark, const PlainRead& read);

    // Set before the first request. The callbacks are called in order, one at a time, on the thread
    // that delivers.
    void on_lost(std::function<void(const LostNotice&)> notify);
    void on_wanted(std::function<void(const WantedNotice&)> notify);
    void on_answered(std::function<void(const AnsweredNotice&)> notify);

    // For a manager without the background thread: decides what is due, makes it durable and
    // delivers the responses. Returns the time of the next call, or nullopt if none is needed.
    std::optional<BootTime> tick();
    // The two halves of tick(), for a simulator that controls the progress of the storage.
    // decide_due() decides what is due; deliver_done() delivers the responses with completed
    // commits. Neither waits for the storage.
    std::optional<BootTime> decide_due();
    void deliver_done();

    // Returns the time of the last decision or tick. After a stall, a server judges late renewals
    // as of this time (RenewSession::as_of).
    BootTime last_decision() const;

    // Checks the invariants of the table; for tests. Returns the first violation, or nullopt.
    std::optional<std::string> audit_invariants();
    // Returns the error of the first failed commit, or nullopt. After such a failure, every request
    // fails with that error.
    std::optional<Error> failure() const;

    // Completes every waiting request with `closing`, commits all queued batches, and stops the
    // thread. Sessions keep their leases.
    Result<void> close();

private:
    struct Core;
    explicit LockManager(std::unique_ptr<Core> core);
    std::unique_ptr<Core> core_;
};

}  // namespace rocklock
