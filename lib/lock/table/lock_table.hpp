// The lock table: who holds what, who waits, and every rule about it.
//
// It takes an event and the time, and returns a Decision: the batch to commit, the answers to give,
// and what to tell others. It does no I/O, takes no mutex, starts no thread and never asks for the
// time, so that a whole life of it can be replayed from a list of events. What waits, sleeps or
// writes is around it (lock_manager.hpp). Only recover() reads, from a snapshot, and has threads
// that help it while it does.
//
// A grant lives, at a given moment, when it has not been ended, its session has not ended, the
// session's deadline lies ahead, and so does the grant's own cap (`max_hold`). That predicate is
// asked by every decision; tick() only wakes those whose wait is over by the clock, and cleans up,
// a little at a time.
//
//     waiting ──grant_waiting()──► held ──end_grant()──► ended: a record in the history, and gone
//        └──refuse()──► gone                             from here
//
// Waiters are served in order of arrival, conversions first. A request waits while
//   - a live holder of another session conflicts with one of its locks, or
//   - a minimum hold or a lock delay closes one of its resources, or
//   - an earlier request of another session that conflicts with it waits too.
// A set is one entry in the queue of each of its resources and holds nothing while it waits.
//
// After every apply() no waiter could be granted without a further event: serve_queues() sees to
// that.
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

// Withdraws the waiting request that was submitted under this ticket.
struct CancelWait {
    Ticket ticket{};
};

// Time has passed: serves at most `budget` of those who wait for it, and cleans up as many grants
// that have ended.
struct Tick {
    std::size_t budget = 1024;
    // Without: only those who wait are served.
    bool sweeps = true;
    // Looks besides, at some of those who wait, for any that should have been granted before: a
    // safety net that must find nothing.
    bool search = false;
};

// `Disconnect`: all of its waits and sessions end before anybody is served.
using Event = std::variant<Request, CancelWait, Tick, ReacquireLocks, Disconnect>;

// The answer to the request with this ticket. A request that waits gets none until it is decided.
struct TicketAnswer {
    Ticket ticket{};
    Result<Answer> answer;
};

// Tokens and versions below these are not given again by another run.
struct ReservedNumbers {
    std::uint64_t token = 0;
    std::uint64_t version = 0;
};

// What one apply() came to.
struct Decision {
    // To be committed before the replies and notices are given. Empty when nothing changed.
    Batch batch;
    Durability durability = Durability::deferred;
    // It uses numbers beyond the last reservation that is known to be durable: it must be synced,
    // whatever durability the user chose.
    bool synced = false;
    // The batch reserves numbers up to these; LockTable::confirm() once it is durable.
    std::optional<ReservedNumbers> reserved;
    std::vector<TicketAnswer> replies;
    std::vector<LostNotice> lost;
    std::vector<WantedNotice> wanted;
    std::vector<HistoryLookup> history;
    // With LockTableOptions::events. In order.
    std::vector<LockEvent> events;
    std::vector<SlowWait> slow;

    void clear();
};

struct LockTableOptions {
    // Tokens and versions reserved at a time. The reservation is written ahead, so a crash skips
    // numbers and never repeats them.
    std::uint64_t reserve = 1u << 16;
    std::uint32_t waiters_total = limits::waiters_total;
    UserLimits user_limits{};
    // Says what happens in Decision::events.
    bool events = false;
    // A wait that lasts so long is in Decision::slow, once. Zero: never.
    std::chrono::milliseconds slow_wait{0};
};

// What recovery must know of the store besides its records.
struct RecoveryFacts {
    // Deadlines in records of this epoch are exact; sessions of other epochs get their full lease
    // from `now` on.
    std::uint32_t boot_epoch = 1;
    bool exact = true;
    // The store was put back from a copy: every session and grant in it ends (`broken`,
    // "restored").
    bool restored = false;
    // The first token may not be lower than this.
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

    // Decides one event at `now`. Instants never go back. `decision` is appended to.
    //
    // `fresh` is the random name for a session this event may open.
    void apply(const Event& event, Ticket ticket, const SessionId& fresh, Instant now,
               Decision& decision);

    // When tick() has something to do next, if nothing else happens before.
    std::optional<BootTime> next_wake() const;
    // Whether anybody who waits is to be served at `now`, before what is over is cleaned up.
    bool waits_due(BootTime now) const;

    // Rebuilds the table from its records. Only on a new table. `decision` gets what must be
    // committed before anything else. Errors: corrupt.
    Result<void> recover(const Snapshot& records, const RecoveryFacts& facts, Decision& decision);

    // Looking: each at one instant, changing nothing.
    LockView show(std::string_view resource, Instant now) const;
    // The grant to look up for LockView::last_holder; 0 for none.
    GrantId last_grant(std::string_view resource) const;
    // Each goes on with a search for a millisecond or two; the answer once it is complete. On a
    // table of ordinary size that is one step, and so one instant.
    std::optional<LockPage> search(LockSearch& search, Instant now) const;
    std::optional<std::vector<SessionView>> search(SessionSearch& search, Instant now) const;
    std::optional<InRange<Holder>> search(HeldSearch& search, Instant now) const;
    // What there is of these, in their order.
    std::vector<LookupResult> lookup(const std::vector<LookupKey>& places, Instant now) const;
    std::vector<Grant> grants(const SessionId& session, Instant now) const;
    // Without its secret.
    Result<SessionInfo> session(const SessionId& session, Instant now) const;
    bool holds(const SessionId& session, std::string_view resource, Mode mode, Instant now) const;
    // What lets a write in. To write is to be active.
    std::variant<Fence, NoFence> fence(const FenceRequest& request, Instant now);
    // Who holds the resource, or all below a path above it, in this mode or a stronger one; nobody
    // of the session `but`.
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
    // The grants on a name that are not in the history yet, newest first; some may be out of time.
    std::vector<HistoryRow> present(std::string_view resource, Instant now) const;
    std::size_t waiting() const;
    // Whether a tick's search has not come to all who wait yet: the next one goes on with it.
    bool searching() const;
    // No event has a lower sequence.
    std::uint64_t first_sequence() const;

    // Forgets what is trimmed from the history.
    void forget(const ForgottenGrant& grant);
    void forget_sessions(std::uint64_t count);
    std::uint64_t ended_records() const;
    std::uint64_t ended_sessions() const;
    // Whether grants of ended sessions are still to be cleaned up.
    bool cleaning() const;
    // The reservation of an earlier decision is durable: numbers below it are safe.
    void confirm(const ReservedNumbers& reserved);

    std::uint32_t boot_epoch() const;

    // Asserts the table's own invariants: links both ways, counters, queues in order, live holders
    // compatible, no waiter grantable, no cycle among waiters. Slow; for tests. Returns what is
    // wrong.
    std::optional<std::string> audit_invariants(Instant now) const;

private:
    struct Core;

    std::size_t look_through(std::size_t part, LockSearch& search) const;
    void show_found(const LockPlace& place, LockSearch& search) const;
    // As it is held now.
    std::optional<Holder> holder_at(const LockPlace& place) const;
    LookupResult lookup_one(const LockPlace& place) const;
    LookupResult lookup_one(const SessionId& id) const;
    std::size_t offer_held(const lock_model::Resource& resource, HeldSearch& search) const;

    std::unique_ptr<Core> core_;
};

}  // namespace rocklock
