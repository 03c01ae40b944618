// The lock table: the holders, the waiters, and all rules of locking.
//
// The table takes an event and the time, and returns a Decision: the batch to commit, the
// responses, and the notices to sessions. It does no I/O, locks no mutex, starts no thread and
// never reads a clock. Any run can therefore be repeated from a list of its events. The only
// exception is recover(), which reads a snapshot and uses threads for this. The lock manager
// (lock_manager.hpp) waits, and writes to the storage.
//
// A grant is live at a given time if all of these conditions hold: it has not been ended, its
// session has not been ended, and neither the session's deadline nor the grant's own cap
// (`max_hold`) has passed. Every decision checks these conditions. Correctness therefore does not
// depend on Tick events. A Tick completes waits that have timed out, or that can be granted because
// time has passed. It also cleans up a limited number of expired grants and sessions.
//
//     waiting ──grant_waiting()──► held ──end_grant()──► ended: a record of the history
//        └──refuse()──► removed
//
// Conversions are served before other requests. Within each of these two kinds, waiters are served
// in the order of arrival. A request with a priority is ordered as if it had arrived earlier, by a
// fixed time for each unit of the priority. A request waits while
//   - a live holder of another session conflicts with one of its locks, or
//   - a minimum hold or a lock delay closes one of its resources, or
//   - an earlier waiting request of another session conflicts with it.
// A request for several resources has one entry in the queue of each of its resources, and holds no
// locks while it waits. A request for any one of several resources waits in the same way, and gets
// the first of the resources that can be granted.
//
// After every apply(), no waiter can be granted until the next event; serve_queues() ensures this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <rocklock/lock.hpp>
#include <rocklock/storage/storage.hpp>

#include "lock/model/disconnect.hpp"
#include "lock/model/encoded_events.hpp"
#include "lock/model/fence.hpp"
#include "lock/model/history_lookup.hpp"
#include "lock/model/lock_query.hpp"
#include "lock/model/session_key.hpp"

namespace rocklock {

// Cancels the waiting request with this ticket.
struct CancelWait {
    Ticket ticket{};
};

// The event that time has passed. Serves at most `budget` waits whose timers are due, and cleans up
// at most `budget` grants that have ended.
struct Tick {
    std::size_t budget = 1024;
    // If false, only waits are served.
    bool sweeps = true;
    // If not zero, grants and sessions whose time has ended are cleaned up only after this
    // duration. Sessions that were closed or revoked are still cleaned up.
    std::chrono::nanoseconds expiry_pause{0};
    // Whether the Tick also searches some of the waits for requests that should have been granted
    // before. The search is a safety net: if it finds a request, the table has a bug.
    bool search = false;
};

// A Disconnect ends all waits, sessions and grants that it contains before any waiter is served.
using Event = std::variant<Request, CancelWait, Tick, ReacquireLocks, Disconnect>;

// The response to the request with this ticket. The response to a request that waits is part of the
// decision that completes the request.
struct TicketAnswer {
    TicketAnswer(Ticket to, Error&& error) : ticket(to), answer(std::move(error)) {}
    TicketAnswer(Ticket to, Result<Answer>&& result) : ticket(to), answer(std::move(result)) {}
    // Constructs the reply from the arguments, because a move of an Answer is slow.
    template <typename Reply, typename... Args>
    TicketAnswer(Ticket to, std::in_place_type_t<Reply> type, Args&&... args)
        : ticket(to), answer(std::in_place, type, std::forward<Args>(args)...) {}

    Ticket ticket{};
    Result<Answer> answer;
};

// The ends of a reservation of numbers. After a restart, no token below `token` and no version
// below `version` is used again.
struct ReservedNumbers {
    std::uint64_t token = 0;
    std::uint64_t version = 0;
};

// The result of one or more calls of apply().
struct Decision {
    // The changes, which must be committed before the replies and notices are delivered. Empty if
    // there are no changes.
    Batch batch;
    Durability durability = Durability::deferred;
    // Whether the decision uses numbers whose reservation may not be durable yet. If true, the
    // batch must be synced, even if a lower durability is configured.
    bool synced = false;
    // If set, the batch reserves all numbers below these ends. After the batch is durable,
    // LockTable::confirm() must be called.
    std::optional<ReservedNumbers> reserved;
    std::vector<TicketAnswer> replies;
    std::vector<LostNotice> lost;
    std::vector<WantedNotice> wanted;
    std::vector<AnsweredNotice> answered;
    std::vector<HistoryLookup> history;
    // The events, in the order of their sequences. Empty unless LockTableOptions::events is set.
    lock_model::EncodedEvents events;
    std::vector<SlowWait> slow;

    void clear();
};

struct LockTableOptions {
    // The minimum number of tokens and versions that are reserved at a time; if they are used
    // quickly, more are reserved. The reservation is written before its numbers are used, so a
    // crash may skip numbers but never repeats one.
    std::uint64_t reserve = 1u << 16;
    std::uint32_t waiters_total = limits::waiters_total;
    UserLimits user_limits{};
    // Whether the usage of users is counted even if there is no limit.
    bool count_users = false;
    // Whether Decision::events is filled.
    bool events = false;
    // If a request has waited for this time and still waits, it is reported once in Decision::slow.
    // With zero, it is never reported.
    std::chrono::milliseconds slow_wait{0};
    // Returns whether the losses of a session's grants are reported in Decision::lost. If it is
    // empty, those of all sessions are. LockManager replaces this value (LockManager::on_lost()).
    std::function<bool(const SessionId&)> reports_losses;
    // As limits::priority_step. Tests with short leases set a shorter time.
    std::chrono::milliseconds priority_step = limits::priority_step;
};

// Facts about the store that recovery needs in addition to the records.
struct RecoveryFacts {
    // The current epoch. If `exact` is true, a session whose deadline was recorded in this epoch
    // keeps the deadline. Every other session gets its full lease, starting at `now`.
    std::uint32_t boot_epoch = 1;
    bool exact = true;
    // Whether the store was restored from a copy. If true, every session and every grant in it is
    // ended (`broken`, "restored").
    bool restored = false;
    // The first token that the table gives out is at least this number.
    std::uint64_t token_floor = 1;
    Instant now;
};

namespace lock_model {
struct Resource;
}

class LockTable {
public:
    LockTable(const LockTableOptions& options, const SessionKey& key);
    ~LockTable();
    LockTable(const LockTable&) = delete;
    LockTable& operator=(const LockTable&) = delete;

    // Decides one event at the time `now`, which must not be earlier than `now` of the previous
    // call. Appends the results to `decision`. If the event is a request, `ticket` identifies the
    // request. `fresh` is a random id for a session that the event may open.
    void apply(const Event& event, Ticket ticket, const SessionId& fresh, Instant now,
               Decision& decision);
    // As above, for the event `Event(request)`.
    void apply(const Request& request, Ticket ticket, const SessionId& fresh, Instant now,
               Decision& decision);

    // Returns the time at which the next Tick is needed if there is no other event before that
    // time, or nullopt if no Tick is needed.
    std::optional<BootTime> next_wake() const;
    // Returns whether a wait must be examined at `now`, or a closed resource can be opened. This
    // work has precedence over the cleaning up of expired grants.
    bool waits_due(BootTime now) const;

    // Rebuilds the table from its records. May be called only on a new table. `decision` receives
    // the changes that must be committed before any other decision. Errors: corrupt.
    Result<void> recover(const Snapshot& records, const RecoveryFacts& facts, Decision& decision);

    // Must be called after a client has presented the secret of a session. `token` is the token
    // that the client presented with the secret, if any. The client therefore knows the grant with
    // this token, and the grant for which the session was opened. A Disconnect does not release
    // these grants as undelivered.
    void note_proof(const SessionId& session, const std::optional<Token>& token);

    // The following functions are queries. Each returns the state at `now`. Only fence() changes
    // the table.
    LockView show(std::string_view resource, Instant now) const;
    // Returns the id of the last grant of the resource, or 0 if no grant is known. The caller can
    // use the id to look up LockView::last_holder.
    GrantId last_grant(std::string_view resource) const;
    // Continue a search for one or two milliseconds. Return nullopt until the search is complete.
    // On a table with few locks, a search takes one step, so its result shows the state at one
    // moment.
    std::optional<LockPage> search(LockSearch& search, Instant now) const;
    std::optional<std::vector<SessionView>> search(SessionSearch& search, Instant now) const;
    std::optional<InRange<Holder>> search(HeldSearch& search, Instant now) const;
    // Returns one result for each key, in the order of the keys. A result is empty if its object
    // does not exist.
    std::vector<LookupResult> lookup(const std::vector<LookupKey>& keys, Instant now) const;
    std::vector<Grant> grants(const SessionId& session, Instant now) const;
    // Returns the session without its secret. Errors: session_not_found, session_expired.
    Result<SessionInfo> session(const SessionId& session, Instant now) const;
    bool holds(const SessionId& session, std::string_view resource, Mode mode, Instant now) const;
    // Returns the fence of the grant that permits a write, or the reason why there is no such
    // grant. A permitted write counts as activity of the session.
    std::variant<Fence, NoFence> fence(const FenceRequest& request, Instant now);
    // Returns the holders of the resource in `mode` or a stronger mode, directly or by a subtree
    // lock above the resource. Holds of the session `but` are not returned.
    std::vector<Holder> holders_over(std::string_view resource, Mode mode,
                                     const std::optional<SessionId>& but, Instant now) const;
    const ExclusiveHolds& exclusive_holds() const;
    Policy policy_of(std::string_view resource) const;
    bool keeps_drafts(std::string_view resource) const;
    std::vector<LockClass> classes() const;
    std::vector<WaitEdge> wait_graph(Instant now, std::size_t limit) const;
    const std::vector<Deadlock>& recent_deadlocks() const;
    LockStatistics statistics(Instant now) const;
    bool has_sessions() const;
    Outliers outliers(std::uint32_t limit, Instant now) const;
    // Returns the grants on a name that are not yet in the history, newest first. Some of them may
    // have expired.
    std::vector<HistoryRow> present(std::string_view resource, Instant now) const;
    std::size_t waiting() const;
    // Returns whether a search by Tick::search is incomplete. The next Tick with `search` continues
    // it.
    bool searching() const;
    // Returns the first version of this run. No event of this run has a lower sequence.
    std::uint64_t first_sequence() const;

    // Must be called after records were deleted from the history: the record of a grant, records of
    // ended sessions, or rows of the audit log.
    void forget(const ForgottenGrant& grant);
    void forget_sessions(std::uint64_t count);
    void forget_audit_rows(std::uint64_t count);
    std::uint64_t ended_records() const;
    std::uint64_t ended_sessions() const;
    std::uint64_t audit_rows() const;
    // Returns whether there are grants of ended sessions that must be cleaned up.
    bool cleaning() const;
    // Changes LockTableOptions::user_limits. Requires that usage is counted if `limits` contains a
    // limit.
    void set_user_limits(const UserLimits& limits);
    // Changes LockTableOptions::slow_wait for waits that begin later.
    void set_slow_wait(std::chrono::milliseconds slow_wait);
    // Changes LockTableOptions::reports_losses.
    void set_reports_losses(std::function<bool(const SessionId&)> reports_losses);
    // Sets the error with which requests that add sessions, grants or classes are refused. With
    // nullopt, such requests are not refused. Requests that already wait are granted in any case,
    // and repeated requests are answered.
    void refuse_growth(std::optional<Error> error);
    bool refuses_growth() const;
    // Must be called after the reservation of an earlier decision has become durable. The reserved
    // numbers can then be used without a sync.
    void confirm(const ReservedNumbers& reserved);

    std::uint32_t boot_epoch() const;

    // Checks the invariants of the table: links in both directions, counters, the order of queues,
    // no conflicting live holders, no waiter that could be granted, no cycle among waiters. Returns
    // a description of the first violation, or nullopt. The check is slow: it is used in tests, and
    // from time to time in debug and sanitizer builds (manager/table_audit.hpp).
    std::optional<std::string> audit_invariants(Instant now) const;
    // Returns an estimate of the cost of audit_invariants(): the number of resources to visit.
    std::uint64_t audit_cost() const;

private:
    template <typename What>
    void apply_to_core(const What& what, Ticket ticket, const SessionId& fresh, Instant now,
                       Decision& decision);

    // For tests: TableBreaker violates invariants of the table on purpose.
    friend struct TableBreaker;
    struct Core;

    std::size_t search_part(std::size_t part, LockSearch& search) const;
    void show_found(const LockPosition& position, LockSearch& search) const;
    // Returns the holder if the lock at `position` is still held.
    std::optional<Holder> holder_at(const LockPosition& position) const;
    LookupResult lookup_one(const LockPosition& position) const;
    LookupResult lookup_one(const SessionId& id) const;
    std::size_t offer_held(const lock_model::Resource& resource, HeldSearch& search) const;

    std::unique_ptr<Core> core_;
};

}  // namespace rocklock
