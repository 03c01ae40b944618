// The lock table: the holders, the waiters, and all rules of locking.
//
// The table takes an event and the time, and returns a Decision: the batch to commit, the
// responses, and the notices to other sessions. It does no I/O, takes no mutex, starts no thread
// and never reads a clock, so any run can be replayed from a list of events. The lock manager
// around it (lock_manager.hpp) waits, sleeps and writes. Only recover() does I/O: it reads a
// snapshot, and uses threads for that.
//
// A grant is live at a given time if it has not been ended, its session has not been ended, and
// neither the session's deadline nor the grant's own cap (`max_hold`) has passed. Every decision
// evaluates this predicate. Correctness therefore does not depend on Tick events: they only serve
// waits that can be granted or time out because time has passed, and clean up expired grants and
// sessions, a limited number at a time.
//
//     waiting ──grant_waiting()──► held ──end_grant()──► ended: a record of the history
//        └──refuse()──► removed
//
// Waiters are served in order of arrival, conversions first. A request waits while
//   - a live holder of another session conflicts with one of its locks, or
//   - a minimum hold or a lock delay closes one of its resources, or
//   - an earlier waiting request of another session conflicts with it.
// A set is one entry in the queue of each of its resources and holds no locks while it waits.
//
// After every apply(), no waiter can be granted without a further event; serve_queues() ensures
// this.
#pragma once

#include <cstddef>
#include <cstdint>
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
#include "lock/model/fence.hpp"
#include "lock/model/history_lookup.hpp"
#include "lock/model/lock_query.hpp"
#include "lock/model/session_key.hpp"

namespace rocklock {

// Cancels the waiting request that was submitted under this ticket.
struct CancelWait {
    Ticket ticket{};
};

// Time has passed. Serves at most `budget` waits with due timers, and cleans up at most `budget`
// grants that have ended.
struct Tick {
    std::size_t budget = 1024;
    // If false, only waits are served.
    bool sweeps = true;
    // Also searches some of the waits for requests that should have been granted before. This is a
    // safety net; it must not find any.
    bool search = false;
};

// `Disconnect` ends all of its waits, sessions and grants before any waiter is served.
using Event = std::variant<Request, CancelWait, Tick, ReacquireLocks, Disconnect>;

// The response to the request with this ticket. A request that waits is answered by the decision
// that completes it.
struct TicketAnswer {
    Ticket ticket{};
    Result<Answer> answer;
};

// A later run of the manager does not use tokens and versions below these again.
struct ReservedNumbers {
    std::uint64_t token = 0;
    std::uint64_t version = 0;
};

// The result of one or more calls of apply().
struct Decision {
    // Must be committed before the replies and notices are delivered. Empty if there are no
    // changes.
    Batch batch;
    Durability durability = Durability::deferred;
    // The decision uses numbers beyond the last reservation that is known to be durable. The batch
    // must be synced, regardless of the durability that the user has configured.
    bool synced = false;
    // The batch reserves numbers up to these. After the batch is durable, call
    // LockTable::confirm().
    std::optional<ReservedNumbers> reserved;
    std::vector<TicketAnswer> replies;
    std::vector<LostNotice> lost;
    std::vector<WantedNotice> wanted;
    std::vector<AnsweredNotice> answered;
    std::vector<HistoryLookup> history;
    // In the order of their sequences. Empty unless LockTableOptions::events is set.
    std::vector<LockEvent> events;
    std::vector<SlowWait> slow;

    void clear();
};

struct LockTableOptions {
    // The number of tokens and versions that are reserved at a time. The reservation is written
    // before its numbers are used, so a crash may skip numbers but never repeats one.
    std::uint64_t reserve = 1u << 16;
    std::uint32_t waiters_total = limits::waiters_total;
    UserLimits user_limits{};
    // Whether Decision::events is filled.
    bool events = false;
    // A wait that lasts this long is reported once in Decision::slow. Zero: never.
    std::chrono::milliseconds slow_wait{0};
};

// Facts about the store that recovery needs in addition to the records.
struct RecoveryFacts {
    // Deadlines in records of this epoch are exact if `exact` is set. Sessions of other epochs get
    // their full lease, starting at `now`.
    std::uint32_t boot_epoch = 1;
    bool exact = true;
    // The store was restored from a copy. Every session and grant in it is ended (`broken`,
    // "restored").
    bool restored = false;
    // The lower limit of the first token.
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

    // Decides one event at time `now`, which must not be earlier than in the previous call. Appends
    // the results to `decision`. `fresh` is a random id for a session that the event may open.
    void apply(const Event& event, Ticket ticket, const SessionId& fresh, Instant now,
               Decision& decision);

    // Returns the time of the next Tick if no other event comes before it, or nullopt if none is
    // needed.
    std::optional<BootTime> next_wake() const;
    // Returns whether a wait or a closure is due at `now`. They are served before expired grants
    // are cleaned up.
    bool waits_due(BootTime now) const;

    // Rebuilds the table from its records. Must be called on a new table only. `decision` receives
    // the changes that must be committed before any other decision. Errors: corrupt.
    Result<void> recover(const Snapshot& records, const RecoveryFacts& facts, Decision& decision);

    // Reports that a client has proven a session, and which token it has presented, if any. The
    // grant of the token, and the grant for which the session was opened, are then known to the
    // client: a Disconnect does not release them as undelivered.
    void note_proof(const SessionId& session, const std::optional<Token>& token);

    // Queries. Each returns the state at `now`. Only fence() changes the table.
    LockView show(std::string_view resource, Instant now) const;
    // Returns the id of the last grant, to be looked up for LockView::last_holder. Returns 0 if
    // none is known.
    GrantId last_grant(std::string_view resource) const;
    // Continue a search for one or two milliseconds. Return nullopt until it is complete. On a
    // table of ordinary size a search takes one step, so its result is a consistent state.
    std::optional<LockPage> search(LockSearch& search, Instant now) const;
    std::optional<std::vector<SessionView>> search(SessionSearch& search, Instant now) const;
    std::optional<InRange<Holder>> search(HeldSearch& search, Instant now) const;
    // Returns one result for each key, in the same order. A result is empty if its object does not
    // exist.
    std::vector<LookupResult> lookup(const std::vector<LookupKey>& keys, Instant now) const;
    std::vector<Grant> grants(const SessionId& session, Instant now) const;
    // Returns the session without its secret. Errors: session_not_found, session_expired.
    Result<SessionInfo> session(const SessionId& session, Instant now) const;
    bool holds(const SessionId& session, std::string_view resource, Mode mode, Instant now) const;
    // Returns the grant that permits a write, or the reason why there is none. A permitted write
    // counts as activity of the session.
    std::variant<Fence, NoFence> fence(const FenceRequest& request, Instant now);
    // Returns the holders of the resource in `mode` or a stronger one, directly or by a subtree
    // lock above it, except for the session `but`.
    std::vector<Holder> holders_over(std::string_view resource, Mode mode,
                                     const std::optional<SessionId>& but, Instant now) const;
    const ExclusiveHolds& exclusive_holds() const;
    Policy policy_of(std::string_view resource) const;
    bool keeps_drafts(std::string_view resource) const;
    std::vector<LockClass> classes() const;
    std::vector<WaitEdge> wait_graph(Instant now, std::size_t limit) const;
    const std::vector<Deadlock>& recent_deadlocks() const;
    LockStatistics statistics() const;
    bool has_sessions() const;
    Outliers outliers(std::uint32_t limit, Instant now) const;
    // Returns the grants on a name that are not in the history yet, newest first. Some may have
    // expired.
    std::vector<HistoryRow> present(std::string_view resource, Instant now) const;
    std::size_t waiting() const;
    // Returns whether a search by Tick::search has not examined all waits yet. The next such Tick
    // continues it.
    bool searching() const;
    // Returns the first version of this run. No event of this run has a lower sequence.
    std::uint64_t first_sequence() const;

    // Called when the history has deleted the record of the grant.
    void forget(const ForgottenGrant& grant);
    void forget_sessions(std::uint64_t count);
    std::uint64_t ended_records() const;
    std::uint64_t ended_sessions() const;
    // Returns whether grants of ended sessions still have to be cleaned up.
    bool cleaning() const;
    // Called when the reservation of an earlier decision is durable: numbers below it can be used
    // without a sync.
    void confirm(const ReservedNumbers& reserved);

    std::uint32_t boot_epoch() const;

    // Checks the invariants of the table: links in both directions, counters, the order of queues,
    // no conflicting live holders, no grantable waiter, no cycle among waiters. Slow; for tests,
    // and sampled in debug and sanitizer builds (manager/table_audit.hpp).
    // Returns a description of the first violation, or nullopt.
    std::optional<std::string> audit_invariants(Instant now) const;
    // Returns an estimate of the cost of an audit, in resources to be visited.
    std::uint64_t audit_cost() const;

private:
    // For tests: violates invariants of the table on purpose.
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
