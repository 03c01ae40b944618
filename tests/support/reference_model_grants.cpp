// Verbs of the reference model: operations on grants and classes.
#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

#include "support/model_text.hpp"
#include "support/reference_model.hpp"

namespace rocklock::proof {

using namespace model;

void ReferenceModel::handle(const Convert& request, Ticket ticket, const SessionId&, Instant now) {
    if (living(request.session, ticket) == nullptr) return;
    seen_active(request.session, now.boot);
    if (request.patience < std::chrono::milliseconds{0} ||
        request.request_id.size() > limits::request_id_bytes) {
        return refuse(ticket, ErrorCode::invalid_argument);
    }
    auto* changed = owned(request.session, request.grant, ticket);
    if (changed == nullptr) return;
    for (const auto& lock : changed->locks) {
        if (lock.permits > 0) return refuse(ticket, ErrorCode::kind_mismatch);
    }
    if (request.mode.has_value() != request.locks.empty())
        return refuse(ticket, ErrorCode::invalid_argument);
    auto after = changed->locks;
    for (auto& lock : after) {
        if (request.mode && lock.cause.empty()) lock.mode = *request.mode;
    }
    for (const auto& named : request.locks) {
        auto at = std::find_if(after.begin(), after.end(),
                               [&](const auto& h) { return h.resource == named.resource; });
        if (at == after.end() || !named.mode || named.to || named.permits > 0 ||
            !named.modes.empty()) {
            return refuse(ticket, ErrorCode::invalid_argument);
        }
        at->mode = *named.mode;
    }
    // Upgraded locks must not conflict with other sessions. Downgraded ones are always possible.
    std::vector<ModelLock> wanted;
    for (std::size_t i = 0; i < after.size(); ++i) {
        if (after[i].mode > changed->locks[i].mode) wanted.push_back(after[i]);
    }
    ModelWaiter waiter;
    waiter.ticket = ticket;
    waiter.arrived_at = now.boot;
    waiter.session = request.session;
    waiter.converting = request.grant;
    waiter.convert = request;
    waiter.wanted = std::move(wanted);
    waiter.after = std::move(after);
    const bool waits_already = std::any_of(waiters_.begin(), waiters_.end(), [&](const auto& w) {
        return w.converting == request.grant;
    });
    if (waits_already) return refuse(ticket, ErrorCode::invalid_argument);
    if (drained(waiter.wanted)) return refuse(ticket, ErrorCode::class_draining);
    wait_or_refuse(std::move(waiter), request.patience, now);
}

void ReferenceModel::handle(const Release& request, Ticket ticket, const SessionId&, Instant now) {
    auto* given_back = find(request.grant);
    if (given_back == nullptr || given_back->session != request.session) {
        return refuse(ticket, ErrorCode::not_owner);
    }
    Released result;
    if (given_back->outcome != Outcome::held) {
        result.outcome = given_back->outcome == Outcome::released ? Outcome::already_released
                                                                  : given_back->outcome;
    } else if (given_back->count > 0) {
        result.outcome = Outcome::held;
        result.count = --given_back->count;
    } else {
        end(*given_back, Outcome::released, now.boot, false);
    }
    reply(ticket, Answer(result));
}

// The previous holder may have other grants that conflict with the moved one. If the grant moved to
// `owner`, two sessions would hold conflicting locks, so the move is refused. Returns whether it
// has replied.
bool ReferenceModel::conflicts_after_move(const ModelGrant& moved, const SessionId& owner,
                                          Ticket ticket, Instant now) {
    Error error(ErrorCode::conflict, "model");
    for (const auto& other : grants_) {
        if (other.id == moved.id || other.session == owner || !lives(other, now.boot)) continue;
        bool in_the_way = false;
        for (const auto& held : other.locks) {
            for (const auto& lock : moved.locks) in_the_way = in_the_way || conflict(held, lock);
        }
        if (!in_the_way) continue;
        Holder holder;
        holder.grant = other.id;
        error.blockers.push_back(holder);
    }
    if (error.blockers.empty()) return false;
    reply(ticket, error);
    return true;
}

bool ReferenceModel::would_be_stuck(const ModelGrant& moved, const SessionId& owner,
                                    // Returns whether an additional session would wait forever if
                                    // this grant belonged to `owner`.
                                    Instant now) const {
    ReferenceModel then = *this;
    then.find(moved.id)->session = owner;
    std::erase_if(then.waiters_, [&](const auto& w) { return w.converting == moved.id; });
    return then.stuck(now.boot).size() > stuck(now.boot).size();
}

void ReferenceModel::handle(const Transfer& request, Ticket ticket, const SessionId&, Instant now) {
    if (living(request.session, ticket) == nullptr) return;
    auto* given = owned(request.session, request.grant, ticket);
    if (given == nullptr) return;
    const auto* receiver = session(request.to);
    if (receiver == nullptr || receiver->ended || !receiver->deadline) {
        return refuse(ticket, ErrorCode::session_not_found);
    }
    if (request.to == request.session) return reply(ticket, Answer(answer(*given)));
    const auto locks = given->locks;
    if (forbids(locks, receiver->lease)) return refuse(ticket, ErrorCode::invalid_argument);
    const auto cap = given->cap;
    const auto max_hold = given->max_hold;
    const auto min_hold = given->min_hold;
    if (conflicts_after_move(*given, request.to, ticket, now)) return;
    if (would_be_stuck(*given, request.to, now)) return refuse(ticket, ErrorCode::deadlock);
    end(*given, Outcome::transferred, now.boot, false);
    auto& made = new_grant(request.to, locks, now);
    // A transfer does not extend the session's lease, and the hold ends when it would have ended
    // before.
    if (cap && (!made.cap || *cap < *made.cap)) {
        made.cap = cap;
        made.max_hold = max_hold;
    }
    made.min_hold = min_hold;
    reply(ticket, Answer(answer(made)));
}

void ReferenceModel::handle(const Steal& request, Ticket ticket, const SessionId&, Instant now) {
    if (living(request.session, ticket) == nullptr) return;
    if (request.force && !request.administrator) return refuse(ticket, ErrorCode::access_denied);
    auto* victim = find(request.grant);
    if (victim == nullptr) return refuse(ticket, ErrorCode::not_owner);
    if (victim->outcome != Outcome::held) return refuse(ticket, ErrorCode::grant_ended);
    if (victim->session == request.session) return refuse(ticket, ErrorCode::already_held);
    const auto locks = victim->locks;
    if (forbids(locks, session(request.session)->lease))
        return refuse(ticket, ErrorCode::invalid_argument);
    if (drained(locks)) return refuse(ticket, ErrorCode::class_draining);
    if (!request.administrator && request.identities &&
        !has_right(*victim, &LockClass::steal_by, *request.identities, true)) {
        return refuse(ticket, ErrorCode::access_denied);
    }
    if (auto error = why_not(request, *victim, now)) return reply(ticket, *error);
    if (conflicts_after_move(*victim, request.session, ticket, now)) return;
    if (would_be_stuck(*victim, request.session, now)) return refuse(ticket, ErrorCode::deadlock);
    end(*victim, Outcome::stolen, now.boot, true);
    auto& made = new_grant(request.session, locks, now);
    extend(request.session, now.boot);
    seen_active(request.session, now.boot);
    reply(ticket, Answer(answer(made)));
}

bool ReferenceModel::has_right(const ModelGrant& grant, std::vector<std::string> LockClass::*right,
                               const std::vector<std::string>& identities, bool for_all) const {
    for (const auto& lock : grant.locks) {
        const auto allowed = class_of(lock.resource).*right;
        bool named = for_all && allowed.empty();
        for (const auto& one : allowed) {
            for (const auto& identity : identities) named = named || one == identity;
        }
        if (!named) return false;
    }
    return true;
}

std::optional<std::chrono::milliseconds> ReferenceModel::longest(StealPolicy policy,
                                                                 const ModelGrant& grant) const {
    std::optional<std::chrono::milliseconds> found;
    for (const auto& lock : grant.locks) {
        const auto its_class = class_of(lock.resource);
        if (its_class.steal != policy) continue;
        found = std::max(found.value_or(its_class.steal_after), its_class.steal_after);
    }
    return found;
}

void ReferenceModel::drop_old_refusals(ModelGrant& grant, BootTime now) const {
    const auto lasts = longest(StealPolicy::ask, grant).value_or(std::chrono::milliseconds{0});
    std::erase_if(grant.asks, [&](const auto& entry) {
        return entry.second.allowed == std::optional(false) && now - entry.second.answered >= lasts;
    });
}

std::optional<Error> ReferenceModel::why_not(const Steal& request, ModelGrant& victim,
                                             Instant now) {
    if (request.administrator && request.force) return std::nullopt;
    Error error(ErrorCode::steal_refused, "model");
    Holder holder;
    holder.grant = victim.id;
    error.blockers.push_back(holder);
    const bool protected_here =
        longest(StealPolicy::never, victim) || deadline(victim) == no_deadline;
    if (protected_here && !request.administrator) {
        error.policy = StealPolicy::never;
        return error;
    }
    const auto must_be_idle = longest(StealPolicy::idle, victim);
    const auto may_answer = longest(StealPolicy::ask, victim);
    // The times from which the two policies allow the steal.
    BootTime idle_from{};
    BootTime asked_from{};
    if (must_be_idle) {
        const auto last = session(victim.session)->active;
        idle_from = std::max(last, victim.since) + *must_be_idle;
    }
    if (may_answer) {
        drop_old_refusals(victim, now.boot);
        const auto* thief = session(request.session);
        const std::pair who{thief->uid, thief->principal};
        if (!victim.asks.contains(who)) {
            if (victim.asks.size() == 100) return Error(ErrorCode::limit_exceeded, "model");
            victim.asks[who].asked = now.boot;
            WantedNotice notice;
            notice.session = victim.session;
            notice.wanted.grant = victim.id;
            notice.wanted.answer_by = now.wall + *may_answer;
            out_.wanted.push_back(notice);
        }
        const ModelAsk& ask = victim.asks[who];
        if (!ask.allowed) asked_from = ask.asked + *may_answer;
        if (ask.allowed == false) asked_from = ask.answered + *may_answer;
    }
    if (idle_from <= now.boot && asked_from <= now.boot) return std::nullopt;
    error.policy = asked_from > now.boot ? StealPolicy::ask : StealPolicy::idle;
    error.retry_after =
        std::chrono::ceil<std::chrono::milliseconds>(std::max(idle_from, asked_from) - now.boot);
    return error;
}

void ReferenceModel::handle(const AnswerWanted& request, Ticket ticket, const SessionId&,
                            Instant now) {
    if (living(request.session, ticket) == nullptr) return;
    auto* wanted = owned(request.session, request.grant, ticket);
    if (wanted == nullptr) return;
    seen_active(request.session, now.boot);
    drop_old_refusals(*wanted, now.boot);
    for (auto& [who, ask] : wanted->asks) {
        ask.allowed = request.allow;
        ask.answered = now.boot;
    }
    bool waited_for = false;
    for (const auto& waiter : waiters_) {
        const auto in_its_way = blockers(waiter, now.boot).grants;
        waited_for = waited_for ||
                     std::find(in_its_way.begin(), in_its_way.end(), wanted) != in_its_way.end();
    }
    if (request.allow && wanted->asks.empty() && waited_for) {
        reply(ticket, Answer(Released{Outcome::released, 0}));
        return end(*wanted, Outcome::released, now.boot, false);
    }
    reply(ticket, Answer(Released{Outcome::held, wanted->count}));
}

void ReferenceModel::handle(const EndSession& request, Ticket ticket, const SessionId&,
                            Instant now) {
    auto* someone = living(request.session, ticket);
    if (someone == nullptr) return;
    ClosedSession closed;
    for (const auto& grant : grants_) {
        if (grant.session == someone->id && grant.outcome == Outcome::held)
            closed.released.push_back(grant.id);
    }
    end_session(*someone, Outcome::broken, now.boot, true);
    reply(ticket, Answer(closed));
}
void ReferenceModel::handle(const AwaitNotices& /*request*/, Ticket, const SessionId&, Instant) {
    throw std::logic_error("the reference model has no notices");
}
void ReferenceModel::handle(const Break& request, Ticket ticket, const SessionId&, Instant now) {
    auto* victim = find(request.grant);
    if (victim == nullptr) return refuse(ticket, ErrorCode::not_owner);
    if (victim->outcome != Outcome::held) return refuse(ticket, ErrorCode::grant_ended);
    if (request.identities &&
        !has_right(*victim, &LockClass::break_by, *request.identities, false)) {
        return refuse(ticket, ErrorCode::access_denied);
    }
    end(*victim, Outcome::broken, now.boot, true);
    reply(ticket, Answer(Released{Outcome::broken, 0}));
}

void ReferenceModel::handle(const Reacquire& request, Ticket ticket, const SessionId&,
                            Instant now) {
    const auto* asker = living(request.session, ticket);
    if (asker == nullptr) return;
    auto* lost = find(request.grant);
    if (lost == nullptr) return refuse(ticket, ErrorCode::not_owner);
    if (lost->outcome == Outcome::held) {
        if (lost->session != asker->id) return refuse(ticket, ErrorCode::not_owner);
        return reply(ticket, Answer(answer(*lost)));
    }
    if (lost->outcome != Outcome::expired && lost->outcome != Outcome::broken) {
        return refuse(ticket, ErrorCode::grant_ended);
    }
    if (session(lost->session)->principal != asker->principal)
        return refuse(ticket, ErrorCode::not_owner);
    // If another session has been granted the same name, or one above it, since the lost grant was
    // given, the protected data may have changed. For a subtree, any later grant counts. A
    // conversion by another session counts even if it came before the lost grant, as long as no
    // later grant on that name exists.
    struct Touch {
        std::uint64_t given = 0;
        std::uint64_t taken_by_others = 0;
    };
    std::map<std::string, Touch> touches;
    for (const auto& grant : grants_) {
        for (const auto& lock : grant.locks) {
            auto& touch = touches[lock.resource];
            touch.given = std::max(touch.given, grant.given);
            if (grant.id == lost->id) continue;
            touch.taken_by_others = std::max(touch.taken_by_others, grant.taken);
        }
    }
    for (const auto& [name, touch] : touches) {
        if (touch.given <= lost->given && touch.taken_by_others <= touch.given) continue;
        for (const auto& mine : lost->locks) {
            if (name == mine.resource || below(mine.resource, name)) {
                return refuse(ticket, ErrorCode::precondition_failed);
            }
        }
    }
    for (const auto& mine : lost->locks) {
        if (mine.subtree && (tokens_ > number(lost->id) || restarts_ > lost->restarts)) {
            return refuse(ticket, ErrorCode::precondition_failed);
        }
    }
    if (forbids(lost->locks, asker->lease)) return refuse(ticket, ErrorCode::invalid_argument);
    ModelWaiter waiter;
    waiter.ticket = ticket;
    waiter.arrived_at = now.boot;
    waiter.session = request.session;
    waiter.wanted = lost->locks;
    if (handle_own_locks(ticket, request.session, waiter.wanted, Held::refuse, now)) return;
    if (drained(waiter.wanted)) return refuse(ticket, ErrorCode::class_draining);
    wait_or_refuse(std::move(waiter), std::chrono::milliseconds{0}, now);
}

void ReferenceModel::handle(const PutClass& request, Ticket ticket, const SessionId&, Instant) {
    const auto& wanted = request.lock_class;
    if (auto error = check_name(wanted.pattern)) return reply(ticket, *error);
    const bool patient = wanted.steal == StealPolicy::idle || wanted.steal == StealPolicy::ask;
    if (patient != (wanted.steal_after.count() != 0) || wanted.steal_after > limits::lease_max) {
        return refuse(ticket, ErrorCode::invalid_argument);
    }
    for (const auto* right : {&wanted.steal_by, &wanted.break_by, &wanted.bind_by}) {
        for (const auto& name : *right) {
            const auto colon = name.find(':');
            const auto kind = name.substr(0, colon);
            if ((kind != "user" && kind != "group") || colon + 1 >= name.size())
                return refuse(ticket, ErrorCode::invalid_argument);
        }
    }
    if (!wanted.steal_by.empty() && wanted.steal == StealPolicy::never)
        return refuse(ticket, ErrorCode::invalid_argument);
    if (wanted.no_expiry && (wanted.max_lease.count() != 0 || wanted.max_hold.count() != 0))
        return refuse(ticket, ErrorCode::invalid_argument);
    const auto before = classes_;
    auto put = wanted;
    for (const auto& known : classes_) {
        if (known.pattern == wanted.pattern) put.draining = known.draining;
    }
    if (wanted.draining && wanted.draining != put.draining)
        return refuse(ticket, ErrorCode::invalid_argument);
    std::erase_if(classes_, [&](const auto& known) { return known.pattern == wanted.pattern; });
    classes_.push_back(put);
    if (in_use_as_other_kind()) {
        classes_ = before;
        return refuse(ticket, ErrorCode::kind_mismatch);
    }
    reply(ticket, Answer(put));
}

void ReferenceModel::handle(const DrainClass& request, Ticket ticket, const SessionId&, Instant) {
    for (auto& known : classes_) {
        if (known.pattern != request.pattern) continue;
        known.draining = request.reason;
        return reply(ticket, Answer(known));
    }
    refuse(ticket, ErrorCode::invalid_argument);
}

void ReferenceModel::handle(const ResumeClass& request, Ticket ticket, const SessionId&, Instant) {
    for (auto& known : classes_) {
        if (known.pattern != request.pattern) continue;
        known.draining.reset();
        return reply(ticket, Answer(known));
    }
    refuse(ticket, ErrorCode::invalid_argument);
}

// A subtree may contain any name that begins with its own name and a slash. The elements of a
// pattern and of a name are compared one by one.
bool ReferenceModel::drained(const std::vector<ModelLock>& locks) const {
    const auto elements_of = [](std::string path) {
        std::vector<std::string> elements{{}};
        for (const char c : path) {
            if (c == '/') {
                elements.emplace_back();
            } else {
                elements.back() += c;
            }
        }
        return elements;
    };
    for (const auto& lock : locks) {
        if (class_of(lock.resource).draining) return true;
        const auto name = elements_of(lock.resource);
        for (const auto& known : classes_) {
            if (!known.draining || !lock.subtree) continue;
            const auto pattern = elements_of(known.pattern);
            bool matches = pattern.size() > name.size();
            for (std::size_t i = 0; matches && i < name.size(); ++i)
                matches = pattern[i] == "*" || pattern[i] == name[i];
            if (matches) return true;
        }
    }
    return false;
}

bool ReferenceModel::any_class_has_no_expiry() const {
    return std::any_of(classes_.begin(), classes_.end(),
                       [](const auto& known) { return known.no_expiry; });
}

// Returns whether a resource is held or requested with another kind than its class has now.
bool ReferenceModel::in_use_as_other_kind() const {
    const auto differs = [&](const ModelLock& lock) {
        return (class_of(lock.resource).permits > 0) != (lock.permits > 0);
    };
    for (const auto& grant : grants_) {
        if (grant.outcome == Outcome::held &&
            std::any_of(grant.locks.begin(), grant.locks.end(), differs))
            return true;
    }
    return std::any_of(waiters_.begin(), waiters_.end(), [&](const auto& waiter) {
        return std::any_of(waiter.wanted.begin(), waiter.wanted.end(), differs);
    });
}

void ReferenceModel::handle(const DeleteClass& request, Ticket ticket, const SessionId&, Instant) {
    const auto known = std::find_if(classes_.begin(), classes_.end(),
                                    [&](const auto& c) { return c.pattern == request.pattern; });
    if (known == classes_.end()) return refuse(ticket, ErrorCode::invalid_argument);
    if (known->draining) return refuse(ticket, ErrorCode::invalid_argument);
    const auto gone = *known;
    const auto before = classes_;
    classes_.erase(known);
    if (in_use_as_other_kind()) {
        classes_ = before;
        return refuse(ticket, ErrorCode::kind_mismatch);
    }
    reply(ticket, Answer(gone));
}

}  // namespace rocklock::proof
