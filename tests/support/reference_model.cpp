#include "support/reference_model.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

namespace rocklock::proof {
namespace {

constexpr BootTime never = BootTime::max();

std::vector<std::string> elements(std::string_view path) {
    std::vector<std::string> found(1);
    for (const char c : path) {
        if (c == '/') {
            found.emplace_back();
        } else {
            found.back() += c;
        }
    }
    return found;
}

bool below(std::string_view path, std::string_view ancestor) {
    return path.size() > ancestor.size() && path.starts_with(ancestor) &&
           path[ancestor.size()] == '/';
}

bool pattern_matches(std::string_view pattern, std::string_view resource) {
    const auto wanted = elements(pattern);
    const auto given = elements(resource);
    if (wanted.size() != given.size()) return false;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (wanted[i] != "*" && wanted[i] != given[i]) return false;
    }
    return true;
}

// For patterns that match the same name: a literal before `*`, from the left.
bool more_specific(std::string_view one, std::string_view other) {
    const auto left = elements(one);
    const auto right = elements(other);
    for (std::size_t i = 0; i < left.size() && i < right.size(); ++i) {
        if ((left[i] == "*") != (right[i] == "*")) return right[i] == "*";
    }
    return false;
}

bool utf8_without_nul(std::string_view text) {
    std::size_t i = 0;
    while (i < text.size()) {
        const auto lead = static_cast<unsigned char>(text[i]);
        std::size_t more = 0;
        std::uint32_t code = 0;
        if (lead == 0) return false;
        if (lead < 0x80) {
            ++i;
            continue;
        }
        if (lead >= 0xC2 && lead <= 0xDF) {
            more = 1;
            code = lead & 0x1Fu;
        } else if ((lead & 0xF0) == 0xE0) {
            more = 2;
            code = lead & 0x0Fu;
        } else if (lead >= 0xF0 && lead <= 0xF4) {
            more = 3;
            code = lead & 0x07u;
        } else {
            return false;
        }
        if (i + more >= text.size()) return false;
        for (std::size_t k = 1; k <= more; ++k) {
            const auto next = static_cast<unsigned char>(text[i + k]);
            if ((next & 0xC0) != 0x80) return false;
            code = (code << 6) | (next & 0x3Fu);
        }
        if (more == 2 && (code < 0x800 || (code >= 0xD800 && code <= 0xDFFF))) return false;
        if (more == 3 && (code < 0x10000 || code > 0x10FFFF)) return false;
        i += more + 1;
    }
    return true;
}

std::size_t size_of(const Metadata& metadata) {
    std::size_t sum = 0;
    for (const auto& [key, value] : metadata) sum += key.size() + value.size();
    return sum;
}

std::optional<Error> check_name(std::string_view name) {
    if (name.empty() || name.size() > limits::name_bytes || !utf8_without_nul(name))
        return Error(ErrorCode::invalid_argument, "model");
    return std::nullopt;
}

std::optional<Error> check_open(const OpenSession& open) {
    if (auto error = check_name(open.principal)) return error;
    if (open.lease && (*open.lease < limits::lease_min || *open.lease > limits::lease_max)) {
        return Error(ErrorCode::invalid_argument, "model");
    }
    if (open.note.size() + size_of(open.metadata) > limits::metadata_bytes) {
        return Error(ErrorCode::limit_exceeded, "model");
    }
    if (open.request_id.size() > limits::request_id_bytes)
        return Error(ErrorCode::invalid_argument, "model");
    return std::nullopt;
}

std::string printed(const Acquire& request) {
    std::string text;
    std::vector<std::string> locks;
    for (const auto& lock : request.locks) {
        locks.push_back(lock.resource + '\0' +
                        (lock.mode ? std::string(to_string(*lock.mode)) : "-") + '\0' +
                        (lock.to ? std::string(to_string(*lock.to)) : "-") + '\0' +
                        (lock.subtree ? "s" : "p") + std::to_string(lock.permits));
        for (const Mode mode : lock.modes) locks.back() += '\0' + std::string(to_string(mode));
    }
    for (const auto& lock : locks) text += lock + '\1';
    text += std::to_string(static_cast<int>(request.held)) + '\1';
    text += request.max_hold ? std::to_string(request.max_hold->count()) : "-";
    return text;
}

// Request ids count in a session, or for a caller who has none yet.
std::string scope(const std::optional<SessionId>& session,
                  const std::optional<OpenSession>& opens) {
    if (session) return "session " + to_string(*session);
    return "caller " + std::to_string(opens->uid) + " " + opens->principal;
}

}  // namespace

// ---- The rules ----

bool ReferenceModel::overlap(const ModelLock& one, const ModelLock& other) {
    return one.resource == other.resource || (one.subtree && below(other.resource, one.resource)) ||
           (other.subtree && below(one.resource, other.resource));
}

bool ReferenceModel::conflict(const ModelLock& held, const ModelLock& wanted) {
    if (!overlap(held, wanted)) return false;
    if (held.permits > 0 && wanted.permits > 0) return false;  // Counted instead.
    return held.mode != Mode::read || wanted.mode != Mode::read;
}

bool ReferenceModel::lives(const ModelGrant& grant, BootTime now) const {
    if (grant.outcome != Outcome::held) return false;
    const auto* owner = session(grant.session);
    return owner != nullptr && !owner->ended && now < deadline(grant);
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
            const bool covers_place =
                (held.resource == lock.resource && held.subtree >= lock.subtree) ||
                (held.subtree && below(lock.resource, held.resource));
            if (covers_place && held.mode >= lock.mode) return true;
        }
    }
    return false;
}

std::vector<const ModelWaiter*> ReferenceModel::in_order() const {
    std::vector<const ModelWaiter*> order;
    for (const auto& waiter : waiters_) {
        if (waiter.converting) order.push_back(&waiter);
    }
    for (const auto& waiter : waiters_) {
        if (!waiter.converting) order.push_back(&waiter);
    }
    return order;
}

// Everything that keeps this request from being granted at this moment. A request that is not
// queued yet stands behind all that are; a conversion stands before all that are none.
ReferenceModel::Blockers ReferenceModel::blockers(const ModelWaiter& waiter, BootTime now) const {
    Blockers found;
    std::set<const ModelGrant*> grants;
    std::set<const ModelWaiter*> earlier;
    std::vector<const ModelWaiter*> ahead;
    for (const auto* other : in_order()) {
        if (other->ticket == waiter.ticket) break;
        if (waiter.converting && !other->converting) break;
        if (other->session != waiter.session) ahead.push_back(other);
    }
    for (const auto& lock : waiter.wanted) {
        for (const auto& grant : grants_) {
            if (grant.session == waiter.session || !lives(grant, now)) continue;
            for (const auto& held : grant.locks) {
                if (conflict(held, lock)) grants.insert(&grant);
            }
        }
        if (lock.permits > 0) {
            std::uint64_t taken = 0;
            std::vector<const ModelGrant*> takers;
            for (const auto& grant : grants_) {
                if (!lives(grant, now)) continue;
                for (const auto& held : grant.locks) {
                    if (held.resource != lock.resource || held.permits == 0) continue;
                    taken += held.permits;
                    if (grant.session != waiter.session) takers.push_back(&grant);
                }
            }
            if (taken + lock.permits > class_of(lock.resource).permits) {
                grants.insert(takers.begin(), takers.end());
            }
            // First come, first served, however many each of them wants.
            for (const auto* other : ahead) {
                for (const auto& wanted : other->wanted) {
                    if (wanted.resource == lock.resource && wanted.permits > 0)
                        earlier.insert(other);
                }
            }
        }
        const auto closed = closed_.find(lock.resource);
        if (closed != closed_.end() && now < closed->second) {
            found.closed_until =
                std::max(found.closed_until.value_or(closed->second), closed->second);
        }
        if (holds_already(waiter.session, lock, now)) continue;
        for (const auto* other : ahead) {
            for (const auto& wanted : other->wanted) {
                if (conflict(wanted, lock)) earlier.insert(other);
            }
        }
    }
    // In the order of their making, not of their addresses.
    for (const auto& grant : grants_) {
        if (grants.contains(&grant)) found.grants.push_back(&grant);
    }
    for (const auto* other : in_order()) {
        if (earlier.contains(other)) found.waiters.push_back(other);
    }
    return found;
}

// Whoever does not wait may give back all it holds; so may, then, whoever can be given all it waits
// for. Who is left over in the end waits for ever.
std::vector<SessionId> ReferenceModel::stuck(BootTime now) const {
    ReferenceModel future = *this;
    future.closed_.clear();
    for (bool progress = true; progress;) {
        progress = false;
        for (const auto& someone : sessions_) {
            const bool involved =
                std::any_of(future.grants_.begin(), future.grants_.end(),
                            [&](const auto& g) { return g.session == someone.id; }) ||
                std::any_of(future.waiters_.begin(), future.waiters_.end(),
                            [&](const auto& w) { return w.session == someone.id; });
            if (!involved) continue;
            const bool blocked = std::any_of(
                future.waiters_.begin(), future.waiters_.end(), [&](const auto& waiter) {
                    return waiter.session == someone.id && future.blockers(waiter, now).any();
                });
            if (blocked) continue;
            std::erase_if(future.waiters_, [&](const auto& w) { return w.session == someone.id; });
            std::erase_if(future.grants_, [&](const auto& g) { return g.session == someone.id; });
            progress = true;
        }
    }
    std::vector<SessionId> left;
    for (const auto& waiter : future.waiters_) {
        if (std::find(left.begin(), left.end(), waiter.session) == left.end())
            left.push_back(waiter.session);
    }
    return left;
}

std::optional<std::string> ReferenceModel::contradiction(BootTime now) const {
    for (const auto& one : grants_) {
        if (!lives(one, now)) continue;
        for (const auto& other : grants_) {
            if (one.session == other.session || !lives(other, now)) continue;
            for (const auto& held : one.locks) {
                for (const auto& wanted : other.locks) {
                    if (conflict(held, wanted)) return held.resource + " and " + wanted.resource;
                }
            }
        }
        for (const auto& held : one.locks) {
            // What was given before its class changed stays given.
            if (held.permits == 0 || class_of(held.resource).permits == 0) continue;
            std::uint64_t taken = 0;
            for (const auto& other : grants_) {
                if (!lives(other, now)) continue;
                for (const auto& lock : other.locks) {
                    if (lock.resource == held.resource) taken += lock.permits;
                }
            }
            if (taken > class_of(held.resource).permits)
                return held.resource + ": too many permits";
        }
    }
    return std::nullopt;
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
    return next == never ? std::nullopt : std::optional(next);
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
            const ModelWaiter judged = *waiter;
            const auto leave = [&] {
                std::erase_if(waiters_, [&](const auto& w) { return w.ticket == judged.ticket; });
                again = true;
            };
            // Held by its session meanwhile, through another request.
            if (!judged.converting && session(judged.session)->deadline &&
                met_by_own(judged.ticket, judged.session, judged.wanted, judged.acquire.held,
                           now)) {
                leave();
                break;
            }
            if (blockers(judged, now.boot).any()) continue;
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

// Whoever waited long enough, and in vain.
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

// Who is free to be granted at the end of its patience is granted: a wait of five seconds covers
// the fifth.
Expected ReferenceModel::apply(const Event& event, Ticket ticket, const SessionId& fresh,
                               Instant now) {
    out_ = {};
    const auto* request = std::get_if<Request>(&event);
    const auto* renewal = request != nullptr ? std::get_if<RenewSession>(request) : nullptr;
    if (renewal != nullptr && renewal->as_of) {
        // A late one is judged before anything else, for others may be waiting to be judged so too.
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

// Nobody is served before all of them are gone.
void ReferenceModel::disconnect(const Disconnect& disconnected, Instant now) {
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
    // Who was at it, who asked and who answered is forgotten; nobody loses a lock earlier by that.
    for (auto& someone : sessions_) {
        someone.active = now.boot;
        someone.opened_lease.reset();
    }
    for (auto& grant : grants_) grant.asks.clear();
    if (exact) return;
    for (auto& someone : sessions_) {
        if (!someone.ended) someone.deadline = now.boot + someone.lease;
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
    Grant told;
    told.id = grant.id;
    told.token = grant.token;
    told.session = grant.session;
    for (const auto& lock : grant.locks) {
        told.locks.push_back({lock.resource, lock.mode, lock.subtree, lock.permits, lock.cause});
    }
    told.waited = grant.waited;
    told.count = grant.count;
    told.deadline = deadline(grant);
    if (grant.outcome != Outcome::held) told.ended = Ending{grant.outcome, {}, {}, {}};
    return told;
}

SessionInfo ReferenceModel::answer(const ModelSession& someone, BootTime now) const {
    SessionInfo told;
    told.id = someone.id;
    told.lease = someone.lease;
    told.deadline = someone.deadline.value_or(now + someone.lease);
    return told;
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
    someone->deadline = now + someone->lease;
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
    auto& made = new_grant(waiter.session, waiter.wanted, now);
    made.waited = waited;
    if (waiter.acquire.max_hold) {
        if (made.max_hold.count() == 0 || *waiter.acquire.max_hold < made.max_hold) {
            made.max_hold = *waiter.acquire.max_hold;
        }
        made.cap = now.boot + made.max_hold;
    }
    if (!waiter.acquire.request_id.empty()) {
        made.request_scope = scope(waiter.acquire.session, waiter.acquire.opens);
        made.request_id = waiter.acquire.request_id;
        made.parameters = printed(waiter.acquire);
    }
    extend(waiter.session, now.boot);
    seen_active(waiter.session, now.boot);
    Grant told = answer(made);
    const auto* owner = session(waiter.session);
    if (owner->own) told.own_session = answer(*owner, now.boot);
    reply(waiter.ticket, Answer(told));
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
    Grant told = answer(*changed);
    told.waited = waited;
    reply(waiter.ticket, Answer(told));
}

void ReferenceModel::close_names(const ModelGrant& grant, Outcome outcome, BootTime at) {
    for (const auto& lock : grant.locks) {
        const auto policy = class_of(lock.resource);
        BootTime until = at;
        if (outcome == Outcome::released && policy.min_hold.count() > 0)
            until = grant.since + policy.min_hold;
        if (outcome == Outcome::expired || outcome == Outcome::broken)
            until = at + policy.lock_delay;
        if (until <= at) continue;
        auto& closed = closed_[lock.resource];
        closed = std::max(closed, until);
    }
}

void ReferenceModel::end(ModelGrant& grant, Outcome outcome, BootTime at, bool tell) {
    grant.outcome = outcome;
    grant.ended_at = at;
    grant.left = ++steps_;
    close_names(grant, outcome, at);
    if (tell) {
        LostNotice notice;
        notice.session = grant.session;
        notice.grant = answer(grant);
        notice.ending.outcome = outcome;
        out_.lost.push_back(std::move(notice));
    }
    // A conversion of it that waits has nothing left to convert.
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

void ReferenceModel::end_session(ModelSession& someone, Outcome outcome, BootTime at, bool tell) {
    // Its waits go first: there is nobody left to be granted anything.
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
        // Its own cap may have come before.
        end(grant, outcome, outcome == Outcome::expired ? std::min(at, grant.cap.value_or(at)) : at,
            tell);
    }
}

// ---- Verbs ----

void ReferenceModel::handle(const OpenSession& request, Ticket ticket, const SessionId& fresh,
                            Instant now) {
    if (auto error = check_open(request)) return reply(ticket, *error);
    const auto lease = request.lease.value_or(limits::lease_default);
    if (!request.request_id.empty()) {
        for (auto& someone : sessions_) {
            if (someone.request_id != request.request_id || someone.uid != request.uid ||
                someone.principal != request.principal || someone.own) {
                continue;
            }
            if (someone.ended) continue;
            if (someone.opened_lease.value_or(lease) != lease || someone.bound != request.bound) {
                return reply(ticket, Error(ErrorCode::parameter_mismatch, "model"));
            }
            return reply(ticket, Answer(answer(someone, now.boot)));
        }
    }
    ModelSession opened;
    opened.id = fresh;
    opened.principal = request.principal;
    opened.uid = request.uid;
    opened.lease = lease;
    opened.opened_lease = lease;
    opened.bound = request.bound;
    opened.active = now.boot;
    opened.deadline = now.boot + lease;
    opened.request_id = request.request_id;
    sessions_.push_back(opened);
    reply(ticket, Answer(answer(opened, now.boot)));
}

// Whether a session with such a lease may not have all of these.
bool ReferenceModel::forbids(const std::vector<ModelLock>& locks,
                             std::chrono::milliseconds lease) const {
    for (const auto& lock : locks) {
        const auto longest = class_of(lock.resource).max_lease;
        if (longest.count() > 0 && lease > longest) return true;
    }
    return false;
}

void ReferenceModel::handle(const RenewSession& request, Ticket ticket, const SessionId&,
                            Instant now) {
    if (request.lease &&
        (*request.lease < limits::lease_min || *request.lease > limits::lease_max)) {
        return refuse(ticket, ErrorCode::invalid_argument);
    }
    auto* someone = living(request.session, ticket);
    if (someone == nullptr) return;
    const auto judged = request.as_of ? std::min(*request.as_of, now.boot) : now.boot;
    if (*someone->deadline <= judged) return refuse(ticket, ErrorCode::session_expired);
    if (request.lease && *request.lease > someone->lease) {
        // What it has, and what it waits for to have.
        std::vector<ModelLock> concerned;
        for (const auto& grant : grants_) {
            if (grant.session != request.session || !lives(grant, now.boot)) continue;
            concerned.insert(concerned.end(), grant.locks.begin(), grant.locks.end());
        }
        for (const auto& waiter : waiters_) {
            if (waiter.session != request.session) continue;
            concerned.insert(concerned.end(), waiter.wanted.begin(), waiter.wanted.end());
        }
        if (forbids(concerned, *request.lease)) return refuse(ticket, ErrorCode::invalid_argument);
    }
    if (request.lease) someone->lease = *request.lease;
    if (request.active) someone->active = now.boot;
    someone->deadline = now.boot + someone->lease;
    reply(ticket, Answer(answer(*someone, now.boot)));
}

void ReferenceModel::handle(const JoinProcess&, Ticket ticket, const SessionId&, Instant) {
    // Processes are the manager's business.
    refuse(ticket, ErrorCode::invalid_argument);
}

void ReferenceModel::handle(const CloseSession& request, Ticket ticket, const SessionId&,
                            Instant now) {
    auto* someone = living(request.session, ticket);
    if (someone == nullptr) return;
    ClosedSession closed;
    for (const auto& grant : grants_) {
        if (grant.session == someone->id && grant.outcome == Outcome::held)
            closed.released.push_back(grant.id);
    }
    end_session(*someone, Outcome::released, now.boot, false);
    reply(ticket, Answer(closed));
}

std::optional<Error> ReferenceModel::check(const Acquire& request) const {
    if (request.session.has_value() == request.opens.has_value())
        return Error(ErrorCode::invalid_argument, "model");
    if (request.opens) {
        if (auto error = check_open(*request.opens)) return error;
    }
    if (request.note.size() + size_of(request.metadata) > limits::metadata_bytes ||
        request.locks.size() > limits::resources_per_grant) {
        return Error(ErrorCode::limit_exceeded, "model");
    }
    if (request.locks.empty() || request.request_id.size() > limits::request_id_bytes) {
        return Error(ErrorCode::invalid_argument, "model");
    }
    if (request.patience < std::chrono::milliseconds{0} ||
        (request.max_hold && *request.max_hold <= std::chrono::milliseconds{0})) {
        return Error(ErrorCode::invalid_argument, "model");
    }
    return std::nullopt;
}

std::optional<Error> ReferenceModel::resolve(const std::vector<LockRequest>& requests,
                                             std::vector<ModelLock>& locks) const {
    std::set<std::string> names;
    for (const auto& request : requests) {
        if (auto error = check_name(request.resource)) return error;
        const std::set<Mode> modes(request.modes.begin(), request.modes.end());
        const int ways = (request.mode ? 1 : 0) + (request.to ? 1 : 0) + (modes.empty() ? 0 : 1);
        if (!names.insert(request.resource).second || ways > 1 ||
            modes.size() < request.modes.size()) {
            return Error(ErrorCode::invalid_argument, "model");
        }
    }
    for (const auto& request : requests) {
        const auto policy = class_of(request.resource);
        ModelLock lock{request.resource, Mode::write, request.subtree, 0, {}};
        if (policy.permits > 0) {
            if (request.mode || request.subtree || request.to == Intent::read ||
                !request.modes.empty()) {
                return Error(ErrorCode::kind_mismatch, "model");
            }
            lock.permits = std::max<std::uint32_t>(request.permits, 1);
            if (lock.permits > policy.permits) return Error(ErrorCode::limit_exceeded, "model");
        } else {
            if (request.permits > 0) return Error(ErrorCode::kind_mismatch, "model");
            if (request.mode) {
                lock.mode = *request.mode;
            } else if (!request.modes.empty()) {
                lock.mode = *std::max_element(request.modes.begin(), request.modes.end());
            } else if (request.to == Intent::read && policy.policy != Policy::read_write) {
                if (policy.policy == Policy::exclusive_write)
                    return Error(ErrorCode::invalid_argument, "model");
                lock.mode = Mode::exclusive;
            } else if (request.to == Intent::read) {
                lock.mode = Mode::read;
            } else {
                lock.mode = policy.policy == Policy::exclusive_read ? Mode::exclusive : Mode::write;
            }
        }
        locks.push_back(lock);
    }
    return std::nullopt;
}

void ReferenceModel::add_dependants(std::vector<ModelLock>& locks) const {
    const auto asked = locks;
    for (const auto& root : asked) {
        if (root.mode == Mode::read || root.permits > 0) continue;
        for (const auto& dependant : class_of(root.resource).dependants) {
            auto named = std::find_if(locks.begin(), locks.end(), [&](const auto& lock) {
                return lock.resource == dependant.resource;
            });
            if (named == locks.end()) {
                locks.push_back({dependant.resource, dependant.mode, false, 0, root.resource});
            } else {
                named->mode = std::max(named->mode, dependant.mode);
            }
        }
    }
}

// Of requests that are in order.
std::vector<ModelLock> ReferenceModel::with_dependants(
    const std::vector<LockRequest>& requests) const {
    std::vector<ModelLock> locks;
    if (resolve(requests, locks)) throw std::logic_error("a request is not in order");
    add_dependants(locks);
    return locks;
}

// Each lock looks for itself, as if it were all that is asked for.
std::vector<LockRequest> ReferenceModel::chosen(const ModelWaiter& asking, BootTime now) const {
    auto requests = asking.acquire.locks;
    for (auto& request : requests) {
        const auto modes = std::exchange(request.modes, {});
        for (const Mode mode : modes) {
            request.mode = mode;
            ModelWaiter alone = asking;
            alone.wanted = with_dependants({request});
            if (!blockers(alone, now).any()) break;
        }
    }
    return requests;
}

void ReferenceModel::handle(const Acquire& request, Ticket ticket, const SessionId& fresh,
                            Instant now) {
    if (auto error = check(request)) return reply(ticket, *error);
    if (!request.request_id.empty()) {
        const auto where = scope(request.session, request.opens);
        for (const auto& grant : grants_) {
            if (grant.request_scope != where || grant.request_id != request.request_id) continue;
            if (grant.parameters != printed(request))
                return refuse(ticket, ErrorCode::parameter_mismatch);
            Grant told = answer(grant);
            const auto* owner = session(grant.session);
            if (owner->own) told.own_session = answer(*owner, now.boot);
            return reply(ticket, Answer(told));
        }
        for (auto& waiter : waiters_) {
            if (waiter.converting || waiter.acquire.request_id != request.request_id ||
                scope(waiter.acquire.session, waiter.acquire.opens) != where) {
                continue;
            }
            if (printed(waiter.acquire) != printed(request))
                return refuse(ticket, ErrorCode::parameter_mismatch);
            // The place in the queue goes to whoever asks now; the one before has lost its
            // connection.
            refuse(waiter.ticket, ErrorCode::cancelled);
            waiter.ticket = ticket;
            waiter.until = std::nullopt;
            if (request.patience != no_limit) waiter.until = now.boot + request.patience;
            return;
        }
    }
    if (request.session && living(*request.session, ticket) == nullptr) return;
    if (request.session) seen_active(*request.session, now.boot);
    std::vector<ModelLock> locks;
    if (auto malformed = resolve(request.locks, locks)) return reply(ticket, *malformed);
    add_dependants(locks);
    if (locks.size() > limits::resources_per_grant)
        return refuse(ticket, ErrorCode::limit_exceeded);

    // Names used as the other kind by whoever holds them.
    for (const auto& lock : locks) {
        for (const auto& grant : grants_) {
            if (!lives(grant, now.boot)) continue;
            for (const auto& held : grant.locks) {
                if (held.resource == lock.resource && (held.permits > 0) != (lock.permits > 0)) {
                    return refuse(ticket, ErrorCode::kind_mismatch);
                }
            }
        }
    }
    const auto lease =
        request.session
            ? session(*request.session)->lease
            : request.opens->lease.value_or(class_of(request.locks.front().resource).lease);
    if (forbids(locks, lease)) return refuse(ticket, ErrorCode::invalid_argument);

    auto weakest = request.locks;
    for (auto& lock : weakest) {
        if (lock.modes.empty()) continue;
        lock.mode = *std::min_element(lock.modes.begin(), lock.modes.end());
        lock.modes.clear();
    }
    if (request.session &&
        met_by_own(ticket, *request.session, with_dependants(weakest), request.held, now)) {
        return;
    }

    ModelWaiter waiter;
    waiter.ticket = ticket;
    waiter.acquire = request;
    if (request.session) {
        waiter.session = *request.session;
    } else {
        ModelSession own;
        own.id = fresh;
        own.principal = request.opens->principal;
        own.uid = request.opens->uid;
        own.lease = lease;
        own.own = true;
        sessions_.push_back(own);
        waiter.session = fresh;
    }
    waiter.wanted = with_dependants(chosen(waiter, now.boot));
    wait_or_refuse(std::move(waiter), request.patience, now);
}

// What `Held` says when this session holds one of the names asked for already. What was taken along
// for another lock does not count.
bool ReferenceModel::met_by_own(Ticket ticket, const SessionId& who,
                                const std::vector<ModelLock>& wanted, Held held, Instant now) {
    ModelGrant* covering = nullptr;
    const ModelGrant* any = nullptr;
    for (auto& grant : grants_) {
        if (grant.session != who || !lives(grant, now.boot)) continue;
        bool covers_all = true;
        for (const auto& lock : wanted) {
            bool covered = false;
            for (const auto& mine : grant.locks) {
                if (mine.resource != lock.resource) continue;
                if (lock.cause.empty() && mine.cause.empty()) any = &grant;
                covered = covered || (mine.mode >= lock.mode && mine.subtree >= lock.subtree &&
                                      mine.permits >= lock.permits);
            }
            covers_all = covers_all && covered;
        }
        // Of several the newest.
        if (covers_all) covering = &grant;
    }
    if (any == nullptr) return false;
    if (held == Held::refuse || covering == nullptr) {
        Error error(ErrorCode::already_held, "model");
        error.grant = any->id;
        reply(ticket, error);
        return true;
    }
    if (held == Held::count) {
        ++covering->count;
        extend(who, now.boot);
    }
    Grant told = answer(*covering);
    if (session(who)->own) told.own_session = answer(*session(who), now.boot);
    reply(ticket, Answer(told));
    return true;
}

void ReferenceModel::wait_or_refuse(ModelWaiter waiter, std::chrono::milliseconds patience,
                                    Instant now) {
    const auto found = blockers(waiter, now.boot);
    const auto forget_own = [&] {
        std::erase_if(sessions_, [&](const auto& s) {
            return s.own && !s.deadline && s.id == waiter.session;
        });
    };
    if (!found.any()) {
        if (waiter.converting) {
            // It passes the queue, and may come to stand in the way of one that its session waits
            // for.
            ReferenceModel then = *this;
            then.find(*waiter.converting)->locks = waiter.after;
            if (!then.stuck(now.boot).empty()) return refuse(waiter.ticket, ErrorCode::deadlock);
            raise(waiter, false, now);
        } else {
            give(waiter, false, now);
        }
        return;
    }
    if (patience.count() == 0) {
        Error error(ErrorCode::conflict, "model");
        for (const auto* grant : found.grants) {
            Holder holder;
            holder.grant = grant->id;
            error.blockers.push_back(holder);
        }
        for (const auto* other : found.waiters) {
            Waiter told;
            told.session = other->session;
            error.waiters.push_back(told);
        }
        if (found.closed_until) {
            error.retry_after =
                std::chrono::ceil<std::chrono::milliseconds>(*found.closed_until - now.boot);
        }
        forget_own();
        return reply(waiter.ticket, error);
    }
    for (const auto& lock : waiter.wanted) {
        std::size_t queued = 0;
        for (const auto& other : waiters_) {
            for (const auto& wanted : other.wanted)
                queued += wanted.resource == lock.resource ? 1 : 0;
        }
        if (queued >= class_of(lock.resource).queue_limit) {
            forget_own();
            return refuse(waiter.ticket, ErrorCode::queue_full);
        }
    }
    if (patience != no_limit) waiter.until = now.boot + patience;
    waiter.arrival = ++arrivals_;
    const auto ticket = waiter.ticket;
    const auto stuck_before = stuck(now.boot);
    waiters_.push_back(waiter);
    // Only the wait that closes a cycle is refused.
    if (stuck(now.boot).size() > stuck_before.size()) {
        waiters_.pop_back();
        forget_own();
        return refuse(ticket, ErrorCode::deadlock);
    }
    for (const auto* grant : found.grants) {
        WantedNotice notice;
        notice.session = grant->session;
        notice.wanted.grant = grant->id;
        out_.wanted.push_back(notice);
    }
}

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
    // What goes up must be free of others; what goes down goes with it.
    std::vector<ModelLock> wanted;
    for (std::size_t i = 0; i < after.size(); ++i) {
        if (after[i].mode > changed->locks[i].mode) wanted.push_back(after[i]);
    }
    ModelWaiter waiter;
    waiter.ticket = ticket;
    waiter.session = request.session;
    waiter.converting = request.grant;
    waiter.convert = request;
    waiter.wanted = std::move(wanted);
    waiter.after = std::move(after);
    const bool waits_already = std::any_of(waiters_.begin(), waiters_.end(), [&](const auto& w) {
        return w.converting == request.grant;
    });
    if (waits_already) return refuse(ticket, ErrorCode::invalid_argument);
    wait_or_refuse(std::move(waiter), request.patience, now);
}

void ReferenceModel::handle(const Release& request, Ticket ticket, const SessionId&, Instant now) {
    auto* given_back = find(request.grant);
    if (given_back == nullptr || given_back->session != request.session) {
        return refuse(ticket, ErrorCode::not_owner);
    }
    Released told;
    if (given_back->outcome != Outcome::held) {
        told.outcome = given_back->outcome == Outcome::released ? Outcome::already_released
                                                                : given_back->outcome;
    } else if (given_back->count > 0) {
        told.outcome = Outcome::held;
        told.count = --given_back->count;
    } else {
        end(*given_back, Outcome::released, now.boot, false);
    }
    reply(ticket, Answer(told));
}

// Whether somebody would wait for ever if this grant were `owner`'s, who would not do so otherwise.
// Its session may hold more of the same by other grants: those would stand in the new owner's way.
bool ReferenceModel::left_behind(const ModelGrant& moved, const SessionId& owner, Ticket ticket,
                                 Instant now) {
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
    if (left_behind(*given, request.to, ticket, now)) return;
    if (would_be_stuck(*given, request.to, now)) return refuse(ticket, ErrorCode::deadlock);
    end(*given, Outcome::transferred, now.boot, false);
    auto& made = new_grant(request.to, locks, now);
    // To be given something is no sign of life, so the session's lease goes on as it was; and the
    // hold ends when it would have ended.
    if (cap && (!made.cap || *cap < *made.cap)) {
        made.cap = cap;
        made.max_hold = max_hold;
    }
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
    if (auto error = why_not(request, *victim, now)) return reply(ticket, *error);
    if (left_behind(*victim, request.session, ticket, now)) return;
    if (would_be_stuck(*victim, request.session, now)) return refuse(ticket, ErrorCode::deadlock);
    end(*victim, Outcome::stolen, now.boot, true);
    auto& made = new_grant(request.session, locks, now);
    extend(request.session, now.boot);
    seen_active(request.session, now.boot);
    reply(ticket, Answer(answer(made)));
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
        return entry.second.allowed == false && now - entry.second.answered >= lasts;
    });
}

std::optional<Error> ReferenceModel::why_not(const Steal& request, ModelGrant& victim,
                                             Instant now) {
    if (request.administrator && request.force) return std::nullopt;
    Error error(ErrorCode::steal_refused, "model");
    Holder holder;
    holder.grant = victim.id;
    error.blockers.push_back(holder);
    if (longest(StealPolicy::never, victim) && !request.administrator) {
        error.policy = StealPolicy::never;
        return error;
    }
    const auto must_be_idle = longest(StealPolicy::idle, victim);
    const auto may_answer = longest(StealPolicy::ask, victim);
    // The moments from which on the one and the other allow it.
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
void ReferenceModel::handle(const Break& request, Ticket ticket, const SessionId&, Instant now) {
    auto* victim = find(request.grant);
    if (victim == nullptr) return refuse(ticket, ErrorCode::not_owner);
    if (victim->outcome != Outcome::held) return refuse(ticket, ErrorCode::grant_ended);
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
    // Whoever was granted the same name, or one above it, since that grant was given may have
    // changed what it guarded. Inside a subtree anything may have been.
    // A conversion is held against it when no grant on that name came later, though it may have
    // come before the lost one.
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
    waiter.session = request.session;
    waiter.wanted = lost->locks;
    if (met_by_own(ticket, request.session, waiter.wanted, Held::refuse, now)) return;
    wait_or_refuse(std::move(waiter), std::chrono::milliseconds{0}, now);
}

void ReferenceModel::handle(const PutClass& request, Ticket ticket, const SessionId&, Instant) {
    const auto& wanted = request.lock_class;
    if (auto error = check_name(wanted.pattern)) return reply(ticket, *error);
    const bool patient = wanted.steal == StealPolicy::idle || wanted.steal == StealPolicy::ask;
    if (patient != (wanted.steal_after.count() != 0) || wanted.steal_after > limits::lease_max) {
        return refuse(ticket, ErrorCode::invalid_argument);
    }
    const auto before = classes_;
    std::erase_if(classes_, [&](const auto& known) { return known.pattern == wanted.pattern; });
    classes_.push_back(wanted);
    if (in_use_as_other_kind()) {
        classes_ = before;
        return refuse(ticket, ErrorCode::kind_mismatch);
    }
    reply(ticket, Answer(wanted));
}

// Whether somebody holds or waits for a name as what its class no longer is.
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
