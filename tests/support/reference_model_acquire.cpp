// Verbs of the reference model: sessions and acquires.
#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

#include "support/model_text.hpp"
#include "support/reference_model.hpp"

namespace rocklock::proof {

using namespace model;

void ReferenceModel::handle(const OpenSession& request, Ticket ticket, const SessionId& fresh,
                            Instant now) {
    if (auto error = check_open(request)) return reply(ticket, *error);
    if (request.lease == no_expiry && !any_class_has_no_expiry())
        return refuse(ticket, ErrorCode::invalid_argument);
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
    opened.deadline = deadline_after(opened, now.boot);
    opened.request_id = request.request_id;
    sessions_.push_back(opened);
    reply(ticket, Answer(answer(opened, now.boot)));
}

// Returns whether a session with this lease may not hold all of these locks.
bool ReferenceModel::forbids(const std::vector<ModelLock>& locks,
                             std::chrono::milliseconds lease) const {
    for (const auto& lock : locks) {
        if (lease == no_expiry && !class_of(lock.resource).no_expiry) return true;
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
        // The locks that the session holds or waits for.
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
    someone->deadline = deadline_after(*someone, now.boot);
    reply(ticket, Answer(answer(*someone, now.boot)));
}

void ReferenceModel::handle(const JoinProcess&, Ticket ticket, const SessionId&, Instant) {
    // Only the manager handles processes.
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
        (request.max_hold && *request.max_hold <= std::chrono::milliseconds{0}) ||
        (request.min_hold && *request.min_hold <= std::chrono::milliseconds{0})) {
        return Error(ErrorCode::invalid_argument, "model");
    }
    for (const auto& lock : request.locks) {
        if (request.any && !lock.modes.empty()) return Error(ErrorCode::invalid_argument, "model");
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

// For valid requests only.
std::vector<ModelLock> ReferenceModel::with_dependants(
    const std::vector<LockRequest>& requests) const {
    std::vector<ModelLock> locks;
    if (resolve(requests, locks)) throw std::logic_error("a request is not in order");
    add_dependants(locks);
    return locks;
}

// The mode of each lock is chosen separately, as if it were the whole request.
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
            Grant copy = answer(grant);
            const auto* owner = session(grant.session);
            if (owner->own) copy.own_session = answer(*owner, now.boot);
            return reply(ticket, Answer(copy));
        }
        for (auto& waiter : waiters_) {
            if (waiter.converting || waiter.acquire.request_id != request.request_id ||
                scope(waiter.acquire.session, waiter.acquire.opens) != where) {
                continue;
            }
            if (printed(waiter.acquire) != printed(request))
                return refuse(ticket, ErrorCode::parameter_mismatch);
            // The repeated request takes over the position in the queue. The client of the earlier
            // one has disconnected.
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
    std::vector<std::vector<ModelLock>> alternatives;
    if (request.any) {
        locks.clear();
        for (const auto& lock : request.locks) {
            alternatives.push_back(with_dependants({lock}));
            locks.insert(locks.end(), alternatives.back().begin(), alternatives.back().end());
        }
    } else {
        add_dependants(locks);
    }
    if (locks.size() > limits::resources_per_grant)
        return refuse(ticket, ErrorCode::limit_exceeded);

    // The resource is held with modes and requested with permits, or the reverse.
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
    for (const auto& lock : locks) {
        if (request.priority > class_of(lock.resource).max_priority)
            return refuse(ticket, ErrorCode::invalid_argument);
    }
    std::vector<std::chrono::milliseconds> most;
    if (request.max_hold) most.push_back(*request.max_hold);
    for (const auto& lock : locks) {
        if (class_of(lock.resource).max_hold.count() > 0)
            most.push_back(class_of(lock.resource).max_hold);
    }
    const auto too_short = [&](auto limit) { return request.min_hold > limit; };
    if (request.min_hold && std::any_of(most.begin(), most.end(), too_short))
        return refuse(ticket, ErrorCode::invalid_argument);

    ModelWaiter waiter;
    waiter.ticket = ticket;
    waiter.arrived_at = now.boot;
    waiter.acquire = request;
    waiter.alternatives = alternatives;
    if (request.any && request.session) {
        waiter.session = *request.session;
        if (handle_own_alternatives(waiter, now)) return;
    }
    auto weakest = request.locks;
    for (auto& lock : weakest) {
        if (lock.modes.empty()) continue;
        lock.mode = *std::min_element(lock.modes.begin(), lock.modes.end());
        lock.modes.clear();
    }
    if (request.session && !request.any &&
        handle_own_locks(ticket, *request.session, with_dependants(weakest), request.held, now)) {
        return;
    }

    if (drained(locks)) return refuse(ticket, ErrorCode::class_draining);

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
    waiter.wanted = request.any ? locks : with_dependants(chosen(waiter, now.boot));
    wait_or_refuse(std::move(waiter), request.patience, now);
}

// Applies `held` if this session already holds one of the requested names. Returns whether it has
// replied. A resource that is held only as a dependant does not count.
bool ReferenceModel::handle_own_locks(Ticket ticket, const SessionId& who,
                                      const std::vector<ModelLock>& wanted, Held held,
                                      Instant now) {
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
        // If several grants cover the request, the newest one is returned.
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
    Grant copy = answer(*covering);
    if (session(who)->own) copy.own_session = answer(*session(who), now.boot);
    reply(ticket, Answer(copy));
    return true;
}

// As handle_own_locks(), for a request for any one of several locks: the first one that the session
// holds counts. If the session holds only some of them and `held` does not apply, the request
// continues with the others.
bool ReferenceModel::handle_own_alternatives(const ModelWaiter& waiter, Instant now) {
    std::size_t holds = 0;
    GrantId last{};
    for (const auto& locks : waiter.alternatives) {
        const auto* own = own_grant_on(waiter.session, locks.front().resource, now.boot);
        if (own == nullptr) continue;
        ++holds;
        last = own->id;
        if (waiter.acquire.held == Held::refuse) continue;
        // Covered by one grant, or refused.
        if (!handle_own_locks(waiter.ticket, waiter.session, locks, waiter.acquire.held, now))
            continue;
        if (out_.replies.back().answer) return true;
        out_.replies.pop_back();
    }
    if (holds < waiter.alternatives.size()) return false;
    Error error(ErrorCode::already_held, "model");
    error.grant = last;
    reply(waiter.ticket, error);
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
            // The conversion is served before the queue, so it may block a request for which its
            // own session waits.
            ReferenceModel then = *this;
            then.find(*waiter.converting)->locks = waiter.after;
            if (!then.stuck(now.boot).empty()) return refuse(waiter.ticket, ErrorCode::deadlock);
            raise(waiter, false, now);
        } else {
            waiter.wanted = granted_locks(waiter, now.boot);
            // A request with a priority may overtake a waiter that blocks its own session.
            ReferenceModel then = *this;
            then.extend(waiter.session, now.boot);
            then.new_grant(waiter.session, waiter.wanted, now);
            if (then.stuck(now.boot).size() > stuck(now.boot).size())
                return refuse(waiter.ticket, ErrorCode::deadlock);
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
            Waiter copy;
            copy.session = other->session;
            error.waiters.push_back(copy);
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

}  // namespace rocklock::proof
