#include "support/reference_model.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

#include "base/assert.hpp"
#include "support/model_text.hpp"

namespace rocklock::proof {

using namespace model;

namespace {

constexpr BootTime never = BootTime::max();

}  // namespace

// ---- The rules ----

bool ReferenceModel::overlap(const ModelLock& one, const ModelLock& other) {
    return one.resource == other.resource || (one.subtree && below(other.resource, one.resource)) ||
           (other.subtree && below(one.resource, other.resource));
}

bool ReferenceModel::conflict(const ModelLock& held, const ModelLock& wanted) {
    if (!overlap(held, wanted)) return false;
    if (held.permits > 0 && wanted.permits > 0) return false;  // Permits are counted instead.
    return held.mode != Mode::read || wanted.mode != Mode::read;
}

bool ReferenceModel::lives(const ModelGrant& grant, BootTime now) const {
    if (grant.outcome != Outcome::held) return false;
    const auto* owner = session(grant.session);
    return owner != nullptr && !owner->ended && now < deadline(grant);
}

BootTime ReferenceModel::deadline_after(const ModelSession& session, BootTime now) {
    return session.lease == no_expiry ? no_deadline : now + session.lease;
}

BootTime ReferenceModel::deadline(const ModelGrant& grant) const {
    const auto* owner = session(grant.session);
    BootTime end = owner != nullptr && owner->deadline ? *owner->deadline : never;
    if (grant.cap) end = std::min(end, *grant.cap);
    return end;
}

LockClass ReferenceModel::class_of(std::string_view resource) const {
    const LockClass* best = nullptr;
    for (const auto& candidate : classes_) {
        if (!pattern_matches(candidate.pattern, resource)) continue;
        if (best == nullptr || more_specific(candidate.pattern, best->pattern)) best = &candidate;
    }
    return best != nullptr ? *best : LockClass{};
}

bool ReferenceModel::holds_already(const SessionId& who, const ModelLock& lock,
                                   BootTime now) const {
    if (lock.permits > 0) return false;
    for (const auto& grant : grants_) {
        if (grant.session != who || !lives(grant, now)) continue;
        for (const auto& held : grant.locks) {
            if (held.permits > 0) continue;
            const bool covers_resource =
                (held.resource == lock.resource && held.subtree >= lock.subtree) ||
                (held.subtree && below(lock.resource, held.resource));
            if (covers_resource && held.mode >= lock.mode) return true;
        }
    }
    return false;
}

// ---- Time ----

std::optional<BootTime> ReferenceModel::next_change() const {
    BootTime next = never;
    for (const auto& someone : sessions_) {
        if (!someone.ended && someone.deadline) next = std::min(next, *someone.deadline);
    }
    for (const auto& grant : grants_) {
        if (grant.outcome == Outcome::held) next = std::min(next, deadline(grant));
    }
    for (const auto& waiter : waiters_) {
        if (waiter.until) next = std::min(next, *waiter.until);
        for (const auto& lock : waiter.wanted) {
            const auto closed = closed_.find(lock.resource);
            if (closed != closed_.end()) next = std::min(next, closed->second);
        }
    }
    return next >= no_deadline ? std::nullopt : std::optional(next);
}

void ReferenceModel::pass_time(BootTime now) {
    for (auto& someone : sessions_) {
        if (!someone.ended && someone.deadline && *someone.deadline <= now) {
            end_session(someone, Outcome::expired, *someone.deadline, true);
        }
    }
    for (auto& grant : grants_) {
        const auto end_of_it = deadline(grant);
        if (grant.outcome == Outcome::held && end_of_it <= now)
            end(grant, Outcome::expired, end_of_it, true);
    }
    std::erase_if(closed_, [&](const auto& entry) { return entry.second <= now; });
}

void ReferenceModel::serve_queues(Instant now) {
    for (bool again = true; again;) {
        again = false;
        for (const auto* waiter : in_order()) {
            ModelWaiter judged = *waiter;
            const auto leave = [&] {
                std::erase_if(waiters_, [&](const auto& w) { return w.ticket == judged.ticket; });
                again = true;
            };
            // The session has got the lock through another request meanwhile.
            const bool may_hold = !judged.converting && session(judged.session)->deadline;
            if (may_hold && (judged.alternatives.empty()
                                 ? handle_own_locks(judged.ticket, judged.session, judged.wanted,
                                                    judged.acquire.held, now)
                                 : handle_own_alternatives(judged, now))) {
                leave();
                break;
            }
            if (drained(judged.wanted)) {
                refuse(judged.ticket, ErrorCode::class_draining);
                leave();
                std::erase_if(sessions_, [&](const auto& s) {
                    return s.own && !s.deadline && s.id == judged.session;
                });
                break;
            }
            if (blockers(judged, now.boot).any()) continue;
            judged.wanted = granted_locks(judged, now.boot);
            leave();
            if (judged.converting) {
                raise(judged, true, now);
            } else {
                give(judged, true, now);
            }
            break;
        }
    }
}

// Fails the requests that have reached their wait timeout and cannot be granted.
void ReferenceModel::lose_patience(Instant now) {
    for (bool again = true; again;) {
        again = false;
        serve_queues(now);
        for (const auto& waiter : waiters_) {
            if (!waiter.until || *waiter.until > now.boot) continue;
            const ModelWaiter gone = waiter;
            refuse(gone.ticket, ErrorCode::patience_expired);
            std::erase_if(waiters_, [&](const auto& w) { return w.ticket == gone.ticket; });
            std::erase_if(sessions_, [&](const auto& s) {
                return s.own && !s.deadline && s.id == gone.session;
            });
            again = true;
            break;
        }
    }
}

// If a request can be granted exactly when its wait timeout ends, it is granted.
Expected ReferenceModel::apply(const Event& event, Ticket ticket, const SessionId& fresh,
                               Instant now) {
    out_ = {};
    const auto* request = std::get_if<Request>(&event);
    const auto* renewal = request != nullptr ? std::get_if<RenewSession>(request) : nullptr;
    if (renewal != nullptr && renewal->as_of) {
        // A late renewal is decided before anything else, since other late renewals may follow.
        handle(*renewal, ticket, fresh, now);
        return std::move(out_);
    }
    pass_time(now.boot);
    lose_patience(now);

    if (request != nullptr) {
        std::visit([&](const auto& verb) { handle(verb, ticket, fresh, now); }, *request);
    } else if (const auto* cancel = std::get_if<CancelWait>(&event)) {
        withdraw(cancel->ticket);
    }
    if (const auto* disconnected = std::get_if<Disconnect>(&event)) disconnect(*disconnected, now);
    lose_patience(now);
    return std::move(out_);
}

void ReferenceModel::withdraw(Ticket ticket) {
    for (auto waiter = waiters_.begin(); waiter != waiters_.end(); ++waiter) {
        if (waiter->ticket != ticket) continue;
        refuse(waiter->ticket, ErrorCode::cancelled);
        const auto who = waiter->session;
        waiters_.erase(waiter);
        std::erase_if(sessions_,
                      [&](const auto& s) { return s.own && !s.deadline && s.id == who; });
        return;
    }
}

// All of them end before any waiter is served.
void ReferenceModel::disconnect(const Disconnect& disconnected, Instant now) {
    ROCKLOCK_ASSERT(disconnected.undelivered.empty());
    for (const Ticket ticket : disconnected.waits) withdraw(ticket);
    for (const auto& close : disconnected.sessions) {
        for (auto& someone : sessions_) {
            if (someone.id != close.session || someone.ended) continue;
            end_session(someone, Outcome::released, now.boot, false);
            break;
        }
    }
}

void ReferenceModel::restart(Instant now, bool exact) {
    out_ = {};
    ++restarts_;
    waiters_.clear();
    std::erase_if(sessions_, [](const auto& s) { return s.own && !s.deadline; });
    // Activity, questions and answers are not stored. No holder loses its lock earlier because of
    // that.
    for (auto& someone : sessions_) {
        someone.active = now.boot;
        someone.opened_lease.reset();
    }
    for (auto& grant : grants_) {
        grant.asks.clear();
        grant.arrived_at.reset();
    }
    if (exact) return;
    for (auto& someone : sessions_) {
        if (!someone.ended) someone.deadline = deadline_after(someone, now.boot);
    }
    for (auto& grant : grants_) {
        grant.since = now.boot;
        if (grant.outcome == Outcome::held && grant.cap) grant.cap = now.boot + grant.max_hold;
    }
}

// ---- Steps of which the verbs are made ----

void ReferenceModel::reply(Ticket ticket, Result<Answer> answer_given) {
    out_.replies.push_back(TicketAnswer{ticket, std::move(answer_given)});
}
void ReferenceModel::refuse(Ticket ticket, ErrorCode code) { reply(ticket, Error(code, "model")); }

Grant ReferenceModel::answer(const ModelGrant& grant) const {
    Grant copy;
    copy.id = grant.id;
    copy.token = grant.token;
    copy.session = grant.session;
    for (const auto& lock : grant.locks) {
        copy.locks.push_back({lock.resource, lock.mode, lock.subtree, lock.permits, lock.cause});
    }
    copy.waited = grant.waited;
    copy.count = grant.count;
    copy.deadline = deadline(grant);
    if (grant.outcome != Outcome::held) copy.ended = Ending{grant.outcome, {}, {}, {}};
    return copy;
}

SessionInfo ReferenceModel::answer(const ModelSession& someone, BootTime now) const {
    SessionInfo copy;
    copy.id = someone.id;
    copy.lease = someone.lease;
    copy.deadline = someone.deadline.value_or(deadline_after(someone, now));
    return copy;
}

const ModelSession* ReferenceModel::session(const SessionId& id) const {
    for (const auto& someone : sessions_) {
        if (someone.id == id) return &someone;
    }
    return nullptr;
}
ModelSession* ReferenceModel::find(const SessionId& id) {
    return const_cast<ModelSession*>(session(id));
}

const ModelGrant* ReferenceModel::grant(GrantId id) const {
    for (const auto& candidate : grants_) {
        if (candidate.id == id) return &candidate;
    }
    return nullptr;
}
ModelGrant* ReferenceModel::find(GrantId id) { return const_cast<ModelGrant*>(grant(id)); }

ModelSession* ReferenceModel::living(const SessionId& id, Ticket ticket) {
    auto* someone = find(id);
    if (someone == nullptr || (someone->own && !someone->deadline)) {
        refuse(ticket, ErrorCode::session_not_found);
        return nullptr;
    }
    if (someone->ended) {
        refuse(ticket, ErrorCode::session_expired);
        return nullptr;
    }
    return someone;
}

ModelGrant* ReferenceModel::owned(const SessionId& who, GrantId id, Ticket ticket) {
    auto* found = find(id);
    if (found == nullptr || found->session != who) {
        refuse(ticket, ErrorCode::not_owner);
        return nullptr;
    }
    if (found->outcome != Outcome::held) {
        refuse(ticket, ErrorCode::grant_ended);
        return nullptr;
    }
    return found;
}

void ReferenceModel::seen_active(const SessionId& who, BootTime now) {
    auto* someone = find(who);
    if (someone != nullptr && !someone->ended) someone->active = now;
}

void ReferenceModel::extend(const SessionId& who, BootTime now) {
    auto* someone = find(who);
    someone->deadline = deadline_after(*someone, now);
}

ModelGrant& ReferenceModel::new_grant(const SessionId& who, std::vector<ModelLock> locks,
                                      Instant now) {
    ModelGrant made;
    made.id = GrantId{++tokens_};
    made.token = Token{tokens_};
    made.session = who;
    made.since = now.boot;
    made.taken = made.given = ++steps_;
    made.restarts = restarts_;
    for (const auto& lock : locks) {
        const auto longest = class_of(lock.resource).max_hold;
        if (longest.count() > 0 && (made.max_hold.count() == 0 || longest < made.max_hold))
            made.max_hold = longest;
    }
    if (made.max_hold.count() > 0) made.cap = now.boot + made.max_hold;
    made.locks = std::move(locks);
    grants_.push_back(std::move(made));
    return grants_.back();
}

GrantId ReferenceModel::give(const ModelWaiter& waiter, bool waited, Instant now) {
    const bool alone = std::none_of(grants_.begin(), grants_.end(), [&](const auto& g) {
        return g.session == waiter.session && lives(g, now.boot);
    });
    auto& made = new_grant(waiter.session, waiter.wanted, now);
    made.waited = waited;
    if (waited && alone) made.arrived_at = waiter.arrived_at;
    made.priority = waiter.acquire.priority;
    if (waiter.acquire.max_hold) {
        if (made.max_hold.count() == 0 || *waiter.acquire.max_hold < made.max_hold) {
            made.max_hold = *waiter.acquire.max_hold;
        }
        made.cap = now.boot + made.max_hold;
    }
    made.min_hold = waiter.acquire.min_hold.value_or(std::chrono::milliseconds{0});
    if (!waiter.acquire.request_id.empty()) {
        made.request_scope = scope(waiter.acquire.session, waiter.acquire.opens);
        made.request_id = waiter.acquire.request_id;
        made.parameters = printed(waiter.acquire);
    }
    extend(waiter.session, now.boot);
    seen_active(waiter.session, now.boot);
    Grant copy = answer(made);
    const auto* owner = session(waiter.session);
    if (owner->own) copy.own_session = answer(*owner, now.boot);
    reply(waiter.ticket, Answer(copy));
    return made.id;
}

void ReferenceModel::raise(const ModelWaiter& waiter, bool waited, Instant now) {
    auto* changed = find(*waiter.converting);
    bool up = false;
    for (std::size_t i = 0; i < changed->locks.size(); ++i) {
        up = up || waiter.after[i].mode > changed->locks[i].mode;
    }
    changed->locks = waiter.after;
    if (up) {
        changed->old_tokens.push_back(changed->token);
        changed->token = Token{++tokens_};
        changed->taken = ++steps_;
    }
    extend(waiter.session, now.boot);
    seen_active(waiter.session, now.boot);
    Grant copy = answer(*changed);
    copy.waited = waited;
    reply(waiter.ticket, Answer(copy));
}

void ReferenceModel::close_names(const ModelGrant& grant, Outcome outcome, BootTime at) {
    for (const auto& lock : grant.locks) {
        const auto policy = class_of(lock.resource);
        BootTime until = at;
        if (outcome == Outcome::released) {
            const bool named = lock.cause.empty();
            const auto own = named ? grant.min_hold : std::chrono::milliseconds{0};
            until = std::max(until, grant.since + std::max(policy.min_hold, own));
        }
        if (outcome == Outcome::expired || outcome == Outcome::broken)
            until = at + policy.lock_delay;
        if (until <= at) continue;
        auto& closed = closed_[lock.resource];
        closed = std::max(closed, until);
    }
}

void ReferenceModel::end(ModelGrant& grant, Outcome outcome, BootTime at, bool notify) {
    grant.outcome = outcome;
    grant.ended_at = at;
    grant.left = ++steps_;
    close_names(grant, outcome, at);
    if (notify) {
        LostNotice notice;
        notice.session = grant.session;
        notice.grant = answer(grant);
        notice.ending.outcome = outcome;
        out_.lost.push_back(std::move(notice));
    }
    // A waiting conversion of the grant ends with it.
    std::vector<Ticket> gone;
    for (const auto& waiter : waiters_) {
        if (waiter.converting == grant.id) gone.push_back(waiter.ticket);
    }
    for (const Ticket ticket : gone) {
        refuse(ticket, ErrorCode::grant_ended);
        std::erase_if(waiters_, [&](const auto& w) { return w.ticket == ticket; });
    }
    auto* owner = find(grant.session);
    if (owner != nullptr && owner->own) owner->ended = true;
}

void ReferenceModel::end_session(ModelSession& someone, Outcome outcome, BootTime at, bool notify) {
    // The waits end first, so that none of them is granted.
    std::vector<ModelWaiter> waits;
    for (const auto& waiter : waiters_) {
        if (waiter.session == someone.id) waits.push_back(waiter);
    }
    std::erase_if(waiters_, [&](const auto& w) { return w.session == someone.id; });
    for (const auto& waiter : waits) {
        refuse(waiter.ticket, ErrorCode::session_expired);
    }
    someone.ended = true;
    for (auto& grant : grants_) {
        if (grant.session != someone.id || grant.outcome != Outcome::held) continue;
        // The maximum hold of a grant may have ended earlier.
        end(grant, outcome, outcome == Outcome::expired ? std::min(at, grant.cap.value_or(at)) : at,
            notify);
    }
}

}  // namespace rocklock::proof
