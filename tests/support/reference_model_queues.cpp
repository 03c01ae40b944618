// The queues of the reference model: their order, what blocks a request, and the checks of the
// results.
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "support/reference_model.hpp"

namespace rocklock::proof {

// Conversions first. A priority counts as an earlier arrival.
bool ReferenceModel::precedes(const ModelWaiter& one, const ModelWaiter& other) const {
    if (one.converting.has_value() != other.converting.has_value())
        return one.converting.has_value();
    const auto counted_from = [this](const ModelWaiter& waiter) {
        return waiter.arrived_at - waiter.acquire.priority * priority_step_;
    };
    if (counted_from(one) != counted_from(other)) return counted_from(one) < counted_from(other);
    return one.arrival < other.arrival;
}

std::vector<const ModelWaiter*> ReferenceModel::in_order() const {
    std::vector<const ModelWaiter*> order;
    for (const auto& waiter : waiters_) order.push_back(&waiter);
    std::stable_sort(order.begin(), order.end(),
                     [this](const auto* one, const auto* other) { return precedes(*one, *other); });
    return order;
}

const ModelGrant* ReferenceModel::own_grant_on(const SessionId& who, const std::string& resource,
                                               BootTime now) const {
    for (const auto& grant : grants_) {
        if (grant.session != who || !lives(grant, now)) continue;
        for (const auto& held : grant.locks) {
            if (held.resource == resource && held.cause.empty()) return &grant;
        }
    }
    return nullptr;
}

ReferenceModel::Blockers ReferenceModel::blockers(const ModelWaiter& waiter, BootTime now,
                                                  bool imagined) const {
    if (waiter.alternatives.empty()) return blockers_of(waiter, waiter.wanted, now, false);
    Blockers all;
    for (const auto& locks : waiter.alternatives) {
        const bool own = own_grant_on(waiter.session, locks.front().resource, now) != nullptr;
        if (own && !imagined) {
            all.own = true;
            continue;
        }
        const auto one = blockers_of(waiter, locks, now, own);
        if (!one.any()) return {};
        const auto add = [](const auto& from, auto& to) {
            for (const auto* each : from) {
                if (std::find(to.begin(), to.end(), each) == to.end()) to.push_back(each);
            }
        };
        add(one.grants, all.grants);
        add(one.waiters, all.waiters);
        if (one.closed_until) {
            all.closed_until =
                std::min(all.closed_until.value_or(*one.closed_until), *one.closed_until);
        }
    }
    return all;
}

std::vector<ModelLock> ReferenceModel::granted_locks(const ModelWaiter& waiter,
                                                     BootTime now) const {
    for (const auto& locks : waiter.alternatives) {
        if (own_grant_on(waiter.session, locks.front().resource, now) != nullptr) continue;
        if (!blockers_of(waiter, locks, now, false).any()) return locks;
    }
    return waiter.wanted;
}

// Returns everything that prevents the request from getting these locks now. If `released`, the
// session's own locks do not count.
ReferenceModel::Blockers ReferenceModel::blockers_of(const ModelWaiter& waiter,
                                                     const std::vector<ModelLock>& locks,
                                                     BootTime now, bool released) const {
    Blockers found;
    std::set<const ModelGrant*> grants;
    std::set<const ModelWaiter*> earlier;
    std::vector<const ModelWaiter*> ahead;
    for (const auto& other : waiters_) {
        if (other.session != waiter.session && precedes(other, waiter)) ahead.push_back(&other);
    }
    for (const auto& lock : locks) {
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
                if (!lives(grant, now) || (released && grant.session == waiter.session)) continue;
                for (const auto& held : grant.locks) {
                    if (held.resource != lock.resource || held.permits == 0) continue;
                    taken += held.permits;
                    if (grant.session != waiter.session) takers.push_back(&grant);
                }
            }
            if (taken + lock.permits > class_of(lock.resource).permits) {
                grants.insert(takers.begin(), takers.end());
            }
            // Permits are granted in order of arrival, however many each request wants.
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
        if (!released && holds_already(waiter.session, lock, now)) continue;
        for (const auto* other : ahead) {
            for (const auto& wanted : other->wanted) {
                if (conflict(wanted, lock)) earlier.insert(other);
            }
        }
    }
    // In order of creation, not of addresses.
    for (const auto& grant : grants_) {
        if (grants.contains(&grant)) found.grants.push_back(&grant);
    }
    for (const auto* other : in_order()) {
        if (earlier.contains(other)) found.waiters.push_back(other);
    }
    return found;
}

// Simulates the future: a session that is not blocked can release all its locks, which may unblock
// others. The sessions that remain at the end wait forever.
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
                    return waiter.session == someone.id && future.blockers(waiter, now, true).any();
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
            // Grants from before a change of the class are not limited by it.
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

// Judges the results only, not the order of the queues from which they were made. An upgrade may
// overtake waiters, so grants that were upgraded are not judged.
std::optional<std::string> ReferenceModel::overtaken(BootTime now) const {
    for (const auto& grant : grants_) {
        if (!grant.arrived_at || grant.taken != grant.given || !lives(grant, now)) continue;
        for (const auto& waiter : waiters_) {
            if (waiter.converting || waiter.session == grant.session ||
                waiter.arrived_at >= *grant.arrived_at - grant.priority * priority_step_) {
                continue;
            }
            for (const auto& held : grant.locks) {
                for (const auto& wanted : waiter.wanted) {
                    const bool permits =
                        held.resource == wanted.resource && held.permits > 0 && wanted.permits > 0;
                    if (permits || conflict(held, wanted)) return held.resource;
                }
            }
        }
    }
    return std::nullopt;
}

}  // namespace rocklock::proof
