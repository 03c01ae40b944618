// A second implementation of the rules of the lock table, which is simple and slow. Tests compare
// the lock table with it.
//
// All state is in lists. After each event, every waiter is checked again, from first to last. To
// find a deadlock, the model simulates the future: it repeatedly lets the sessions that are not
// blocked release their locks, until no other session becomes unblocked. The model shares no code
// with lib/lock. If the model and the lock table differ, one of them does not follow
// docs/semantics.md.
//
// The model numbers its grants and tokens 1, 2, 3 and so on. model_mirror.hpp translates these
// numbers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rocklock/lock.hpp>

#include "lock/table/lock_table.hpp"

namespace rocklock::proof {

struct ModelSession {
    SessionId id;
    std::string principal;
    UserId uid = 0;
    std::chrono::milliseconds lease{};
    // The lease in the request that opened the session. nullopt after a restart.
    std::optional<std::chrono::milliseconds> opened_lease;
    Bound bound = Bound::none;
    // nullopt while the session was opened for one grant whose request still waits. During this
    // time, no client knows the id of the session.
    std::optional<BootTime> deadline;
    // Whether the session was opened for one grant and ends with it.
    bool own = false;
    bool ended = false;
    // The time of the last activity.
    BootTime active;
    std::string request_id;
    std::string parameters;
};

// A request of a session to take over a grant, and the answer of the holder.
struct ModelAsk {
    BootTime asked;
    std::optional<bool> allowed;
    BootTime answered;
};

struct ModelLock {
    std::string resource;
    Mode mode = Mode::write;
    bool subtree = false;
    std::uint32_t permits = 0;
    std::string cause;
};

struct ModelGrant {
    GrantId id{};
    Token token{};
    SessionId session;
    std::vector<ModelLock> locks;
    std::uint32_t count = 0;
    bool waited = false;
    BootTime since;
    std::optional<BootTime> cap;
    std::chrono::milliseconds max_hold{0};
    std::chrono::milliseconds min_hold{0};
    Outcome outcome = Outcome::held;
    BootTime ended_at;
    // Three steps: that in which the grant was first given, that in which it was last given or
    // upgraded, and that in which it ended.
    std::uint64_t given = 0;
    std::uint64_t taken = 0;
    std::uint64_t left = 0;
    // The number of restarts of the manager before the grant.
    std::uint64_t restarts = 0;
    // True if the grant has expired and its holder has not been notified yet.
    bool owes_notice = false;
    // The tokens that the grant had before each upgrade.
    std::vector<Token> old_tokens;
    // The arrival time and the priority of the request, if the request waited and its session held
    // no other grant at that time.
    std::optional<BootTime> arrived_at;
    std::uint32_t priority = 0;
    std::string request_scope;
    std::string request_id;
    std::string parameters;
    // The requests to take over the grant, by uid and principal.
    std::map<std::pair<UserId, std::string>, ModelAsk> asks;
};

struct ModelWaiter {
    Ticket ticket{};
    // A request that is not in the queue counts as the latest arrival.
    std::uint64_t arrival = UINT64_MAX;
    BootTime arrived_at;
    SessionId session;
    // The locks that are not granted yet. A conversion contains only the locks that are upgraded. A
    // request for any one of several locks contains the locks of all alternatives.
    std::vector<ModelLock> wanted;
    // For a request for any one of several locks, each of these locks with its dependants.
    std::vector<std::vector<ModelLock>> alternatives;
    std::optional<GrantId> converting;
    std::optional<BootTime> until;
    Acquire acquire;
    Convert convert;
    // For a conversion, all locks of the grant in their new modes.
    std::vector<ModelLock> after;
};

// The expected results of one event.
struct Expected {
    // Contains at most one reply for each ticket. Their order is not specified.
    std::vector<TicketAnswer> replies;
    // Delivered by the end of the next Tick at the latest.
    std::vector<LostNotice> lost;
    // The notices to holders. A holder is notified if a request began to wait for its lock, or if
    // another session asked to take over its grant.
    std::vector<WantedNotice> wanted;
};

class ReferenceModel {
public:
    Expected apply(const Event& event, Ticket ticket, const SessionId& fresh, Instant now);

    // Restarts the manager. If `exact` is true, deadlines are kept. Otherwise, the lease of every
    // session begins again at `now`. Waiters are discarded without an answer.
    void restart(Instant now, bool exact);

    // ---- Queries; results are in order of creation ----
    const std::vector<ModelSession>& sessions() const { return sessions_; }
    const std::vector<ModelGrant>& grants() const { return grants_; }
    const std::vector<ModelWaiter>& waiters() const { return waiters_; }
    const std::vector<LockClass>& classes() const { return classes_; }
    const std::map<std::string, BootTime>& closed() const { return closed_; }
    const ModelSession* session(const SessionId& id) const;
    const ModelGrant* grant(GrantId id) const;
    bool lives(const ModelGrant& grant, BootTime now) const;
    BootTime deadline(const ModelGrant& grant) const;
    // Returns the deadline that the session would have if it were renewed now.
    static BootTime deadline_after(const ModelSession& session, BootTime now);
    LockClass class_of(std::string_view resource) const;
    bool forbids(const std::vector<ModelLock>& locks, std::chrono::milliseconds lease) const;
    // Returns whether a drained class forbids a new grant of one of these locks.
    bool drained(const std::vector<ModelLock>& locks) const;
    // Returns the next time at which time alone changes the state.
    std::optional<BootTime> next_change() const;
    // Returns a description if two live grants of different sessions conflict, or if too many
    // permits are in use. Returns nullopt if the state is consistent.
    std::optional<std::string> contradiction(BootTime now) const;
    // Returns a description of a waiter that a later request was not allowed to overtake but has
    // overtaken, or nullopt if there is none. Overtaking is not allowed if the two requests
    // conflict and the waiter arrived earlier by more than the priority of the later request.
    std::optional<std::string> overtaken(BootTime now) const;
    // Returns the sessions that would still wait if all sessions that are not blocked released
    // their locks.
    std::vector<SessionId> stuck(BootTime now) const;
    std::uint64_t last_token() const { return tokens_; }
    // Records that the session was active. A write of an item that its lock protects is not an
    // event of the lock table.
    void seen_active(const SessionId& session, BootTime now);
    // Continues after the token `last`. Tokens up to `last` were given before a crash that has
    // revoked their grants.
    void skip_tokens(std::uint64_t last) { tokens_ = last; }
    // Used if the lock table under test uses another step than limits::priority_step.
    void set_priority_step(std::chrono::milliseconds step) { priority_step_ = step; }

    static bool overlap(const ModelLock& one, const ModelLock& other);
    static bool conflict(const ModelLock& held, const ModelLock& wanted);

private:
    struct Blockers {
        std::vector<const ModelGrant*> grants;
        std::vector<const ModelWaiter*> waiters;
        std::optional<BootTime> closed_until;
        // True if the session of the request holds one of the alternatives.
        bool own = false;
        bool any() const {
            return own || !grants.empty() || !waiters.empty() || closed_until.has_value();
        }
    };

    void pass_time(BootTime now);
    void serve_queues(Instant now);
    void lose_patience(Instant now);
    void withdraw(Ticket ticket);
    void disconnect(const Disconnect& disconnected, Instant now);
    bool handle_own_locks(Ticket ticket, const SessionId& who, const std::vector<ModelLock>& wanted,
                          Held held, Instant now);
    bool handle_own_alternatives(const ModelWaiter& waiter, Instant now);
    bool in_use_as_other_kind() const;
    bool any_class_has_no_expiry() const;
    bool conflicts_after_move(const ModelGrant& moved, const SessionId& owner, Ticket ticket,
                              Instant now);
    bool would_be_stuck(const ModelGrant& moved, const SessionId& owner, Instant now) const;
    std::vector<const ModelWaiter*> in_order() const;
    // Returns whether `one` has an earlier place in the queues than `other`.
    bool precedes(const ModelWaiter& one, const ModelWaiter& other) const;
    // If `imagined` is true, an alternative that the session itself holds is treated as if the
    // session had released it. Otherwise, this alternative is not available.
    Blockers blockers(const ModelWaiter& waiter, BootTime now, bool imagined = false) const;
    Blockers blockers_of(const ModelWaiter& waiter, const std::vector<ModelLock>& locks,
                         BootTime now, bool released) const;
    // Returns the locks that the request gets if nothing blocks it.
    std::vector<ModelLock> granted_locks(const ModelWaiter& waiter, BootTime now) const;
    const ModelGrant* own_grant_on(const SessionId& session, const std::string& resource,
                                   BootTime now) const;
    bool holds_already(const SessionId& session, const ModelLock& lock, BootTime now) const;

    void handle(const OpenSession& request, Ticket ticket, const SessionId& fresh, Instant now);
    void handle(const RenewSession& request, Ticket ticket, const SessionId& fresh, Instant now);
    void handle(const JoinProcess& request, Ticket ticket, const SessionId& fresh, Instant now);
    void handle(const CloseSession& request, Ticket ticket, const SessionId& fresh, Instant now);
    void handle(const Acquire& request, Ticket ticket, const SessionId& fresh, Instant now);
    void handle(const Convert& request, Ticket ticket, const SessionId& fresh, Instant now);
    void handle(const Release& request, Ticket ticket, const SessionId& fresh, Instant now);
    void handle(const Transfer& request, Ticket ticket, const SessionId& fresh, Instant now);
    void handle(const Steal& request, Ticket ticket, const SessionId& fresh, Instant now);
    void handle(const EndSession& request, Ticket ticket, const SessionId& fresh, Instant now);
    void handle(const Break& request, Ticket ticket, const SessionId& fresh, Instant now);
    void handle(const Reacquire& request, Ticket ticket, const SessionId& fresh, Instant now);
    void handle(const PutClass& request, Ticket ticket, const SessionId& fresh, Instant now);
    void handle(const DeleteClass& request, Ticket ticket, const SessionId& fresh, Instant now);
    void handle(const DrainClass& request, Ticket ticket, const SessionId& fresh, Instant now);
    void handle(const ResumeClass& request, Ticket ticket, const SessionId& fresh, Instant now);
    void handle(const AnswerWanted& request, Ticket ticket, const SessionId& fresh, Instant now);
    // Throws std::logic_error, because notices are not part of the model.
    static void handle(const AwaitNotices& request, Ticket ticket, const SessionId& fresh,
                       Instant now);

    // Returns whether the classes of all locks of the grant give the right to one of the
    // identities. If `for_all` is true, a class with an empty list gives the right to all clients.
    bool has_right(const ModelGrant& grant, std::vector<std::string> LockClass::*right,
                   const std::vector<std::string>& identities, bool for_all) const;
    // Returns the longest `steal_after` of those classes of the grant that have this policy.
    // Returns nullopt if no class has the policy.
    std::optional<std::chrono::milliseconds> longest(StealPolicy policy,
                                                     const ModelGrant& grant) const;
    // Returns the error with which this steal is refused, or nullopt if it is allowed. If the
    // policy requires it, asks the holder.
    std::optional<Error> why_not(const Steal& request, ModelGrant& victim, Instant now);
    void drop_old_refusals(ModelGrant& grant, BootTime now) const;

    void wait_or_refuse(ModelWaiter waiter, std::chrono::milliseconds patience, Instant now);
    GrantId give(const ModelWaiter& waiter, bool waited, Instant now);
    void raise(const ModelWaiter& waiter, bool waited, Instant now);
    ModelGrant& new_grant(const SessionId& session, std::vector<ModelLock> locks, Instant now);
    void end(ModelGrant& grant, Outcome outcome, BootTime at, bool notify);
    void end_session(ModelSession& session, Outcome outcome, BootTime at, bool notify);
    void close_names(const ModelGrant& grant, Outcome outcome, BootTime at);
    void extend(const SessionId& session, BootTime now);

    // Returns the session if it is live. Otherwise replies with an error and returns null.
    ModelSession* living(const SessionId& id, Ticket ticket);
    ModelSession* find(const SessionId& id);
    ModelGrant* find(GrantId id);
    // Returns the grant if this session holds it. Otherwise replies with an error and returns null.
    ModelGrant* owned(const SessionId& session, GrantId id, Ticket ticket);

    std::optional<Error> resolve(const std::vector<LockRequest>& requests,
                                 std::vector<ModelLock>& locks) const;
    std::vector<ModelLock> with_dependants(const std::vector<LockRequest>& requests) const;
    std::vector<LockRequest> chosen(const ModelWaiter& asking, BootTime now) const;
    void add_dependants(std::vector<ModelLock>& locks) const;
    std::optional<Error> check(const Acquire& request) const;

    void reply(Ticket ticket, Result<Answer> answer);
    void refuse(Ticket ticket, ErrorCode code);
    Grant answer(const ModelGrant& grant) const;
    SessionInfo answer(const ModelSession& session, BootTime now) const;

    std::vector<ModelSession> sessions_;
    std::vector<ModelGrant> grants_;
    std::vector<ModelWaiter> waiters_;
    std::vector<LockClass> classes_;
    std::map<std::string, BootTime> closed_;
    std::uint64_t tokens_ = 0;
    std::uint64_t steps_ = 0;
    std::uint64_t restarts_ = 0;
    std::uint64_t arrivals_ = 0;
    std::chrono::milliseconds priority_step_{10'000};
    Expected out_;
};

}  // namespace rocklock::proof
