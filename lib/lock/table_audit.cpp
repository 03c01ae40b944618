// The table's check of itself, from scratch: every rule that its bookkeeping is meant to keep.
#include <algorithm>
#include <utility>

#include "lock/table_core.hpp"

namespace rocklock {

using table::Hold;
using table::Obstacles;
using table::Resource;
using table::Wait;
using table::WaitLock;

std::optional<std::string> LockTable::Core::audit() const {
    const auto at_resource = [](const Resource& resource, std::string_view what) {
        return std::string(what) + " at \"" + std::string(resource.name()) + "\"";
    };
    std::uint64_t marks = 0;
    std::size_t waiting = 0;
    for (const Resource* resource : resources) {
        std::uint32_t holds = 0;
        std::uint32_t strong = 0;
        std::uint64_t permits = 0;
        for (const Hold* hold = resource->first; hold != nullptr; hold = hold->next) {
            ++holds;
            strong += hold->mode != Mode::read ? 1 : 0;
            marks += hold->subtree ? 1 : 0;
            permits += table::live(*hold, now.boot) ? hold->permits : 0;
            if (hold->resource != resource)
                return at_resource(*resource, "a hold of another resource");
            if (!grants.contains(hold->grant)) return at_resource(*resource, "a hold of no grant");
            if (!table::live(*hold, now.boot)) continue;
            // S1: whoever else holds here, above with a subtree, or below under this subtree.
            const auto clashes = [&](const Hold& other) {
                return other.grant->session != hold->grant->session &&
                       table::live(other, now.boot) && !(other.permits > 0 && hold->permits > 0) &&
                       conflicting(other.mode, hold->mode);
            };
            for (const Hold* other = hold->next; other != nullptr; other = other->next) {
                if (clashes(*other)) return at_resource(*resource, "two holders in conflict");
            }
            for (const Resource* above = resource->parent; above != nullptr;
                 above = above->parent) {
                for (const Hold* other = above->first; other != nullptr; other = other->next) {
                    if (other->subtree && clashes(*other)) {
                        return at_resource(*resource, "a conflict with a subtree above");
                    }
                }
            }
        }
        if (holds != resource->holds || strong != resource->strong) {
            return at_resource(*resource, "holds miscounted");
        }
        const std::uint32_t limit = classes.of(resource->name()).permits;
        if (permits > 0 && permits > limit) return at_resource(*resource, "too many permits given");
        if (!resource->needed(now.boot) && !resource->extra) {
            return at_resource(*resource, "kept for nothing");
        }
        const WaitLock* before = nullptr;
        for (const WaitLock* lock = resource->queue(); lock != nullptr; lock = lock->next) {
            if (lock->previous != before) return at_resource(*resource, "a queue linked wrongly");
            if (before != nullptr && !before->wait->before(*lock->wait)) {
                return at_resource(*resource, "a queue out of order");
            }
            marks += lock->wish->subtree ? 1 : 0;
            ++waiting;
            before = lock;
        }
        if (resource->extra && resource->extra->last != before) {
            return at_resource(*resource, "a queue without its end");
        }
    }
    if (marks != subtree_marks) return "subtree marks miscounted";
    std::size_t wishes = 0;
    for (const auto& [ticket_of, wait] : waits) {
        wishes += wait->locks.size();
        if (wait->ticket != ticket_of) return "a wait under another's ticket";
        Obstacles obstacles = look(*wait->session, wait->wishes, wait.get(), wait->conversion);
        // Q1. Time may have made it grantable just now: then its timer is due.
        const bool due = wait->timer.armed() && wait->timer.at <= now.boot;
        if (!obstacles.blocked && !due && ending_sessions.empty()) {
            return "a waiter of " + wait->session->principal + " could be granted";
        }
        if (!find_cycle(*wait->session).empty()) return "a deadlock stands";
    }
    if (wishes != waiting) return "queues and waits disagree";
    std::size_t held = 0;
    for (const auto& [id, session] : sessions) {
        std::uint64_t of_session = 0;
        for (const Grant* grant = session->first; grant != nullptr; grant = grant->next)
            ++of_session;
        if (of_session != session->grants) return "a session's grants miscounted";
        held += of_session;
    }
    if (held != grants.size()) return "grants and sessions disagree";
    return std::nullopt;
}

}  // namespace rocklock
