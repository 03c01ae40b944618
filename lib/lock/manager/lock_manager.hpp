// The lock manager: the lock table together with a clock, a storage and threads.
//
//     submit(request) ─► with the mutex:  read the clock, table.apply(), storage.enqueue(batch)
//                     ─► without it:      the storage makes the batch durable
//                     ─► completions and notices, in the order of the decisions
//
// The mutex orders the decisions, and the storage's queue keeps this order. The state that is
// recovered after a crash therefore contains all decisions up to a certain decision, and none after
// it. No I/O happens while the mutex is held. A deferred batch, such as that of a release, stays in
// the queue and is written together with the next batch. If no other batch follows within a
// millisecond, the manager's thread writes the deferred batch.
//
// A refusal changes nothing and is delivered immediately. Grants, responses to repeated requests,
// and notices are delivered after their commits are as durable as the request requires. show() and
// list() wait for the commits of the state that they return. If a commit fails, every later
// decision fails too, and this manager grants no more locks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <rocklock/clock.hpp>
#include <rocklock/lock.hpp>
#include <rocklock/retention.hpp>
#include <rocklock/storage/storage.hpp>

#include "lock/manager/server_service.hpp"
#include "lock/model/lock_query.hpp"
#include "lock/table/lock_table.hpp"

namespace rocklock {

struct LockManagerOptions {
    // With `written`, the commits of requests that are durable by default are written but not
    // synced.
    Durability durability = Durability::durable;
    // Whether the manager starts its own thread. The thread makes those commits durable for which
    // no other thread waits, examines waiting requests at the times at which they may be granted or
    // time out, and cleans up expired grants and sessions. If false, the caller must call tick(),
    // or decide_due() and deliver_done().
    bool background = true;
    // Whether the store was restored from a copy. If true, all sessions and grants in it are ended,
    // and new tokens are greater than all that may have been used since the copy was made.
    bool restored = false;
    // Returns random session ids. If null, the system's random numbers are used.
    std::function<SessionId()> session_ids;
    // The time for which ended grants and sessions and the audit log are kept.
    Retention retention;
    // The maximum number of events that are kept for watchers. If 0, no events are created.
    std::size_t events_kept = 0;
    // Whether the duration of each acquire is measured, which reads the clock twice for each
    // acquire.
    bool timings = false;
    // If a request has waited for this time and still waits, on_slow_wait() is called for it once,
    // in the same way as the callback of on_lost(). With zero, it is never called.
    std::chrono::milliseconds slow_wait{0};
    std::function<void(const SlowWait&)> on_slow_wait;
    LockTableOptions table;
};

// A mark of the state of the exclusive locks. If the marks of two times are equal, no exclusive
// lock was granted or ended between these times.
struct ReadMark {
    std::uint64_t changes = 0;
    // Whether any resource is held in `exclusive`.
    bool any = false;
    friend bool operator==(const ReadMark&, const ReadMark&) = default;
};

// The resources of a read of bound items. `reader` is the reading session, if the read presents a
// proof. `strict` is TableBinding::strict.
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
    // Recovers the lock table from the storage and starts the manager. Errors: corrupt; io_error,
    // no_space and read_only from the storage.
    static Result<std::unique_ptr<LockManager>> open(Storage& storage, Clock& clock,
                                                     LockManagerOptions options = {});
    // Calls close().
    ~LockManager() override;

    Ticket submit(Request request, Completion done) override;
    Ticket enqueue(Request&& request, Completion done) override;
    bool decide_now(const Event& event, DirectRequest& request) override;
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
    Result<std::uint64_t> trim_audit(std::uint64_t through) override;
    LockStatistics statistics() override;
    void on_stall(std::function<void()> notify,
                  std::function<std::chrono::nanoseconds()> unread_for = {}) override;
    void resume() override;
    Result<Outliers> outliers(std::uint32_t limit) override;
    Result<HistoryPage> history(const HistoryRequest& request) override;
    Result<EventPage> watch(const WatchRequest& request, std::stop_token stop = {}) override;
    Ticket submit_watch(WatchRequest request, WatchCompletion done) override;

    // Returns one result for each key, in the order of the keys. All results show the state at one
    // moment, and this state is committed when the function returns. Errors: those of the storage.
    Result<std::vector<LookupResult>> lookup(const std::vector<LookupKey>& keys);
    // Returns held locks in the order of their keys. As with list(), the result shows the state at
    // one moment only if the lock table has at most 2,048 locks. Errors: those of the storage.
    Result<InRange<Holder>> held(HeldSearch search);
    // Returns the kept events in the order of their keys. Events that are dropped during the search
    // may be missing. Errors: invalid_argument if no events are kept; those of the storage.
    Result<InRange<LockEvent>> events(EventSearch search);
    // Returns the events with these sequences, in the order of `sequences`. An element is nullopt
    // if the event is not kept.
    Result<std::vector<std::optional<LockEvent>>> events_at(
        const std::vector<std::uint64_t>& sequences);

    // Returns the fence of the grant that permits a write to bound items. The fence is valid until
    // Fence::until, provided that the record of the grant still has Fence::version. Both conditions
    // must be preconditions of the write's commit. The fence must not be used for another commit.
    //
    // Sets `drafts_of` to the former holder if the write should be kept as a draft. This requires
    // that the token belongs to a grant that covered the resource and has expired, or was stolen or
    // broken, and that the class of the resource keeps drafts. Otherwise, `drafts_of` is not
    // changed.
    //
    // Errors: lock_required  the session holds no lock that covers the resource in write or
    //                        exclusive, or the token belongs to another session. Facts: blockers
    //         stale_token    the grant or its session has ended. Facts: ended, blockers
    //         those of the storage
    Result<Fence> fence(const FenceRequest& request, LostHolder* drafts_of = nullptr);
    // Returns the error lock_required for a write that presents no proof of a lock.
    Error lock_missing(std::string_view resource);

    // Returns the mark that a read of bound items must take before it reads. Locks no mutex.
    ReadMark read_mark() const;
    // Must be called after the read. Returns true if the result of the read may be returned to the
    // client. Returns false if an exclusive lock that covers one of the resources may have begun or
    // ended since `mark`; the caller must then read again.
    //
    // Errors: locked         another session holds one of the resources in `exclusive`. Facts:
    //                        blockers
    //         lock_required  `strict` is set, one of the resources has the policy exclusive_read,
    //                        and the reader does not hold this resource
    Result<bool> check_read(const ReadMark& mark, const PlainRead& read);

    // Set the callbacks for notices of later decisions. The callbacks run one at a time, in the
    // order of the decisions, on the thread that delivers responses. on_lost() reports only the
    // losses of sessions for which `concerns` returns true, or those of all sessions if it is
    // empty. `concerns` is called by the deciding thread, which holds the mutex of the manager: it
    // must be fast, must not throw, and must not call the manager.
    void on_lost(std::function<void(const LostNotice&)> notify,
                 std::function<bool(const SessionId&)> concerns = {});
    void on_wanted(std::function<void(const WantedNotice&)> notify);
    void on_answered(std::function<void(const AnsweredNotice&)> notify);

    // For a manager without its own thread (LockManagerOptions::background): decides what is due,
    // makes the decisions durable and delivers the responses. Returns the time of the next call, or
    // nullopt if no call is needed.
    std::optional<BootTime> tick();
    // The two halves of tick(), for a simulator that controls the progress of the storage.
    // decide_due() decides what is due. deliver_done() delivers the responses whose commits are
    // completed. Neither function waits for the storage.
    std::optional<BootTime> decide_due();
    void deliver_done();

    // Returns the time of the last decision or tick. After a stall, a server can use this time as
    // RenewSession::as_of for renewals that it has read late.
    BootTime last_decision() const;

    // The next three functions change an option of the open manager. set_user_limits() requires
    // that usage is counted: LockTableOptions::count_users or a limit must have been set when the
    // manager was opened. A new `slow_wait` applies to waits that begin later.
    void set_user_limits(const UserLimits& limits);
    void set_retention(const Retention& retention);
    void set_slow_wait(std::chrono::milliseconds slow_wait);

    // Checks the invariants of the lock table, for tests. Returns the first violation, or nullopt.
    std::optional<std::string> audit_invariants();
    // Returns the error of the first failed commit, or nullopt. After such a failure, every request
    // fails with that error.
    std::optional<Error> failure() const;

    // Completes every waiting request with the error `closing`, commits all queued batches, and
    // stops the thread. Sessions and their leases continue in the store.
    Result<void> close();

private:
    struct Core;
    explicit LockManager(std::unique_ptr<Core> core);
    std::unique_ptr<Core> core_;
};

}  // namespace rocklock
