// A second, slow and simple, implementation of the rules of the lock table, with which the lock
// table is compared.
//
// All state is in lists. After each event every waiter is checked again, from first to last. To
// find a deadlock, the model simulates the future: each session that is not blocked releases its
// locks, until no more session becomes unblocked. The model shares no code with lib/lock. If the
// two differ, one of them does not follow docs/semantics.md.
//
// The model numbers its grants and tokens 1, 2, 3 and so on; model_mirror.hpp translates them.
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
    std::uint32_t uid = 0;
    std::chrono::milliseconds lease{};
    // From the request that opened the session. None after a restart.
    std::optional<std::chrono::milliseconds> opened_lease;
    Bound bound = Bound::none;
    // None if the session was opened for one grant and its request still waits. No client knows the
    // id of the session then.
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
    Outcome outcome = Outcome::held;
    BootTime ended_at;
    // The steps in which the grant was first given, in which it was last given or upgraded, and in
    // which it ended.
    std::uint64_t given = 0;
    std::uint64_t taken = 0;
    std::uint64_t left = 0;
    // The number of restarts of the manager before the grant.
    std::uint64_t restarts = 0;
    // The grant has expired, and its holder has not been notified yet.
    bool owes_notice = false;
    // The tokens before each upgrade.
    std::vector<Token> old_tokens;
    std::string request_scope;
    std::string request_id;
    std::string parameters;
    // By uid and principal.
    std::map<std::pair<std::uint32_t, std::string>, ModelAsk> asks;
};

struct ModelWaiter {
    Ticket ticket{};
    std::uint64_t arrival = 0;
    SessionId session;
    // The locks that are not granted yet. For a conversion, only those that are upgraded.
    std::vector<ModelLock> wanted;
    std::optional<GrantId> converting;
    std::optional<BootTime> until;
    Acquire acquire;
    Convert convert;
    // For a conversion: all its locks in their new modes.
    std::vector<ModelLock> after;
};

// The expected results of one event.
struct Expected {
    // At most one for each ticket. Their order is not specified.
    std::vector<TicketAnswer> replies;
    // Delivered by the end of the next Tick at the latest.
    std::vector<LostNotice> lost;
    // The notices to holders of locks for which a request began to wait, or which another session
    // asked to take over.
    std::vector<WantedNotice> wanted;
};

class ReferenceModel {
public:
    Expected apply(const Event& event, Ticket ticket, const SessionId& fresh, Instant now);

    // Restarts the manager. If `exact`, deadlines are kept; otherwise every session has its full
    // lease from `now` on. Waiters are forgotten without an answer.
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
    LockClass class_of(std::string_view resource) const;
    bool forbids(const std::vector<ModelLock>& locks, std::chrono::milliseconds lease) const;
    // Returns the next time at which time alone changes the state.
    std::optional<BootTime> next_change() const;
    // Returns a description of two live grants of different sessions that conflict, or of too many
    // permits in use. Returns none if the state is consistent.
    std::optional<std::string> contradiction(BootTime now) const;
    // Returns the sessions that would wait forever, even if all sessions that are not blocked
    // released their locks.
    std::vector<SessionId> stuck(BootTime now) const;
    std::uint64_t last_token() const { return tokens_; }
    // Continues after the token `last`. Tokens up to `last` were given before a crash that has
    // revoked their grants.
    void skip_tokens(std::uint64_t last) { tokens_ = last; }

    static bool overlap(const ModelLock& one, const ModelLock& other);
    static bool conflict(const ModelLock& held, const ModelLock& wanted);

private:
    struct Blockers {
        std::vector<const ModelGrant*> grants;
        std::vector<const ModelWaiter*> waiters;
        std::optional<BootTime> closed_until;
        bool any() const { return !grants.empty() || !waiters.empty() || closed_until.has_value(); }
    };

    void pass_time(BootTime now);
    void serve_queues(Instant now);
    void lose_patience(Instant now);
    void withdraw(Ticket ticket);
    void disconnect(const Disconnect& disconnected, Instant now);
    bool handle_own_locks(Ticket ticket, const SessionId& who, const std::vector<ModelLock>& wanted,
                          Held held, Instant now);
    bool in_use_as_other_kind() const;
    bool conflicts_after_move(const ModelGrant& moved, const SessionId& owner, Ticket ticket,
                              Instant now);
    bool would_be_stuck(const ModelGrant& moved, const SessionId& owner, Instant now) const;
    std::vector<const ModelWaiter*> in_order() const;
    Blockers blockers(const ModelWaiter& waiter, BootTime now) const;
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
    void handle(const AnswerWanted& request, Ticket ticket, const SessionId& fresh, Instant now);
    // Notices are not part of the model. Throws std::logic_error.
    static void handle(const AwaitNotices& request, Ticket ticket, const SessionId& fresh,
                       Instant now);

    // Returns the longest `steal_after` of the grant's classes with this policy, or none.
    std::optional<std::chrono::milliseconds> longest(StealPolicy policy,
                                                     const ModelGrant& grant) const;
    // Returns the error with which this steal is refused, or none. Asks the holder if the policy
    // requires it.
    std::optional<Error> why_not(const Steal& request, ModelGrant& victim, Instant now);
    void drop_old_refusals(ModelGrant& grant, BootTime now) const;
    void seen_active(const SessionId& session, BootTime now);

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
    Expected out_;
};

}  // namespace rocklock::proof
