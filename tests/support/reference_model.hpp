// The rules of the lock table once more, written the slow and obvious way, to compare the real one
// with.
//
// Everything is a list. After each event all waiters are judged again from the first to the last,
// and whether somebody would wait for ever is found by playing the whole future through: let
// whoever does not wait give back all it holds, and see who gets on. Nothing here is shared with
// lib/lock, and nothing is clever; where the two differ, one of them misreads docs/semantics.md.
//
// The model numbers its grants and tokens 1, 2, 3, …; whoever compares translates
// (model_mirror.hpp).
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
    // Of the request; none after a restart.
    std::optional<std::chrono::milliseconds> opened_lease;
    Bound bound = Bound::none;
    // None while it was made for a grant that still waits: nobody could renew it.
    std::optional<BootTime> deadline;
    // Made for one grant alone, and ends with it.
    bool own = false;
    bool ended = false;
    // When somebody was at it last.
    BootTime active;
    std::string request_id;
    std::string parameters;
};

// Somebody wants to take a grant over, and what its holder said to that.
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
    // When it was granted, last granted or raised, and ended, counted in such steps.
    std::uint64_t given = 0;
    std::uint64_t taken = 0;
    std::uint64_t left = 0;
    // How often the manager had begun anew by then.
    std::uint64_t restarts = 0;
    // Ended by time, and nobody was told so far.
    bool owes_notice = false;
    // Tokens it had before it was converted upward.
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
    // What it still needs: for a conversion, only the locks that go up.
    std::vector<ModelLock> wanted;
    std::optional<GrantId> converting;
    std::optional<BootTime> until;
    Acquire acquire;
    Convert convert;
    // A conversion: all its locks as they are to be.
    std::vector<ModelLock> after;
};

// What one event comes to.
struct Expected {
    // For each ticket at most one; their order among themselves is not promised.
    std::vector<TicketAnswer> replies;
    // Told by the end of the next Tick at the latest.
    std::vector<LostNotice> lost;
    // Somebody began to wait, and these hold what they wait for.
    std::vector<WantedNotice> wanted;
};

class ReferenceModel {
public:
    Expected apply(const Event& event, Ticket ticket, const SessionId& fresh, Instant now);

    // The manager ended and begins again. With `exact` deadlines are kept, else every session gets
    // its whole lease from `now` on. Waiters are gone, and unanswered.
    void restart(Instant now, bool exact);

    // ---- Looking; all in order of their making ----
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
    // The next moment at which time alone changes something.
    std::optional<BootTime> next_change() const;
    // Pairs of live grants of different sessions that may not be held together: must be none.
    std::optional<std::string> contradiction(BootTime now) const;
    // Sessions that would wait for ever, whatever the others do.
    std::vector<SessionId> stuck(BootTime now) const;
    std::uint64_t last_token() const { return tokens_; }
    // Numbers up to `last` were given away in a life that a crash took back.
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
    bool met_by_own(Ticket ticket, const SessionId& who, const std::vector<ModelLock>& wanted,
                    Held held, Instant now);
    bool in_use_as_other_kind() const;
    bool left_behind(const ModelGrant& moved, const SessionId& owner, Ticket ticket, Instant now);
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

    // The longest `steal_after` among the classes of this policy that the grant falls under, if
    // there is one.
    std::optional<std::chrono::milliseconds> longest(StealPolicy policy,
                                                     const ModelGrant& grant) const;
    // Why this steal is refused; whoever must be asked has been asked then.
    std::optional<Error> why_not(const Steal& request, ModelGrant& victim, Instant now);
    void drop_old_refusals(ModelGrant& grant, BootTime now) const;
    void seen_active(const SessionId& session, BootTime now);

    void wait_or_refuse(ModelWaiter waiter, std::chrono::milliseconds patience, Instant now);
    GrantId give(const ModelWaiter& waiter, bool waited, Instant now);
    void raise(const ModelWaiter& waiter, bool waited, Instant now);
    ModelGrant& new_grant(const SessionId& session, std::vector<ModelLock> locks, Instant now);
    void end(ModelGrant& grant, Outcome outcome, BootTime at, bool tell);
    void end_session(ModelSession& session, Outcome outcome, BootTime at, bool tell);
    void close_names(const ModelGrant& grant, Outcome outcome, BootTime at);
    void extend(const SessionId& session, BootTime now);

    // Nothing, and an error replied, unless the session is there and lives.
    ModelSession* living(const SessionId& id, Ticket ticket);
    ModelSession* find(const SessionId& id);
    ModelGrant* find(GrantId id);
    // Nothing, and an error replied, unless the grant is held by this session.
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
