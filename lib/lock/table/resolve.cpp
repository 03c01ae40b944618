// Determines the locks that a request needs from the locks that it names: the modes from intents
// and classes, the dependants, the permits, and the limits of the classes.
#include <algorithm>
#include <utility>

#include "base/duration_text.hpp"
#include "base/invalid_argument.hpp"
#include "base/mutant.hpp"
#include "lock/table/core.hpp"
#include "lock/table/lock_request.hpp"

namespace rocklock {

using lock_model::has_choice;
using lock_model::quoted;
using lock_model::RequestedLock;
using lock_model::RequestKey;
using lock_model::tighter;

namespace {

std::optional<Error> check_modes(const LockRequest& lock) {
    if (lock.modes.empty()) return std::nullopt;
    if (lock.mode || lock.to) {
        return invalid_argument("resource " + quoted(lock.resource) +
                                ": give exactly one of modes, mode and intent");
    }
    for (auto mode = lock.modes.begin(); mode != lock.modes.end(); ++mode) {
        if (std::find(lock.modes.begin(), mode, *mode) == mode) continue;
        return invalid_argument("resource " + quoted(lock.resource) + ": the mode " +
                                std::string(to_string(*mode)) +
                                " is given twice: give each mode once");
    }
    return std::nullopt;
}

}  // namespace

Result<LockTable::Core::Resolved> LockTable::Core::resolve(const std::vector<LockRequest>& locks,
                                                           Slot slot) {
    Resolved resolved;
    resolved.requested_locks.reserve(locks.size());
    // Only a grant with a single lock can be in the slot of its resource.
    if (locks.size() > 1) slot = Slot::without;
    for (const LockRequest& lock : locks) {
        if (auto error = resolve_one(lock, slot, resolved)) return *std::move(error);
    }
    if (!classes.empty()) {
        // Decide by the modes that the request named. If a named resource gets a stronger mode
        // because it is also a dependant, its own dependants are not added.
        std::vector<bool> edits;
        for (const RequestedLock& requested : resolved.requested_locks)
            edits.push_back(requested.mode != Mode::read);
        for (std::size_t root = 0; root < locks.size(); ++root) {
            if (!edits[root]) continue;
            const LockClass& lock_class = classes.of(locks[root].resource);
            if (auto error = add_dependants(locks[root], lock_class, root, resolved)) {
                return *std::move(error);
            }
        }
    }
    return resolved;
}

// The session that is opened for the request gets the lease of the first alternative.
Result<LockTable::Core::Resolved> LockTable::Core::resolve_any(
    const std::vector<LockRequest>& locks, Slot slot) {
    Resolved all;
    for (const LockRequest& lock : locks) {
        auto one = resolve({lock}, slot);
        if (!one) return std::move(one).error();
        for (const Alternative& before : all.alternatives) {
            if (all.requested_locks[before.first].resource != one->requested_locks.front().resource)
                continue;
            return invalid_argument("resource " + quoted(lock.resource) +
                                    " is given twice: give each resource once");
        }
        const std::size_t first = all.requested_locks.size();
        const std::size_t count = one->requested_locks.size();
        if (first + count > limits::resources_per_grant) {
            Error error(ErrorCode::limit_exceeded,
                        "the alternatives have more than 100 resources with their dependants");
            error.limit = limits::resources_per_grant;
            return error;
        }
        if (first == 0) all.lease = one->lease;
        all.max_lease = tighter(all.max_lease, one->max_lease);
        all.alternatives.push_back({first, count, one->max_hold});
        all.requested_locks.insert(all.requested_locks.end(), one->requested_locks.begin(),
                                   one->requested_locks.end());
    }
    return all;
}

std::optional<Error> LockTable::Core::check_priority(
    std::uint32_t priority, std::span<const RequestedLock> requested_locks) const {
    if (priority == 0) return std::nullopt;
    for (const RequestedLock& requested : requested_locks) {
        const std::string_view name = requested.resource->name();
        const std::uint32_t most = classes.of(name).max_priority;
        if (priority <= most) continue;
        const std::string given = "priority " + std::to_string(priority) + " is not allowed for " +
                                  quoted(name) + ": its class allows ";
        return invalid_argument(
            given + (most == 0 ? "no priorities; omit the priority, or let an administrator allow "
                                 "priorities (`rocklock class put --max-priority`)"
                               : "at most " + std::to_string(most)));
    }
    return std::nullopt;
}

std::optional<Error> LockTable::Core::resolve_one(const LockRequest& lock, Slot slot,
                                                  Resolved& resolved) {
    if (auto error = check_name("resource name", lock.resource)) return error;
    if (auto error = check_depth(lock.resource)) return error;
    if (lock.mode && lock.to) {
        return invalid_argument("resource " + quoted(lock.resource) +
                                ": give a mode or an intent, not both");
    }
    if (auto error = check_modes(lock)) return error;
    const LockClass& lock_class = classes.of(lock.resource);
    RequestedLock requested;
    requested.subtree = lock.subtree;
    if (lock_class.permits > 0) {
        if (lock.mode || lock.to || lock.subtree || has_choice(lock)) {
            return Error(ErrorCode::kind_mismatch,
                         "resource " + quoted(lock.resource) + " is counted in permits (class " +
                             quoted(lock_class.pattern) + "): request permits, not a mode");
        }
        requested.permits = std::max<std::uint32_t>(lock.permits, 1);
        if (requested.permits > lock_class.permits) {
            Error error(ErrorCode::limit_exceeded,
                        "resource " + quoted(lock.resource) + " has only " +
                            std::to_string(lock_class.permits) + " permits");
            error.limit = lock_class.permits;
            return error;
        }
    } else if (lock.permits > 0) {
        return Error(ErrorCode::kind_mismatch,
                     "resource " + quoted(lock.resource) +
                         " is locked in modes, not counted in permits: first save a class with "
                         "permits for it, or request a mode");
    } else if (lock.mode) {
        requested.mode = *lock.mode;
    } else if (has_choice(lock)) {
        requested.mode = *std::max_element(lock.modes.begin(), lock.modes.end());
    } else {
        const auto mode = mode_for(lock_class.policy, lock.to.value_or(Intent::edit));
        if (!mode) {
            return invalid_argument("resource " + quoted(lock.resource) +
                                    ": its policy exclusive_write has no lock for reading: read "
                                    "without a lock, or request mode read");
        }
        requested.mode = *mode;
    }
    requested.resource = &resource(lock.resource, slot);
    for (const RequestedLock& other : resolved.requested_locks) {
        if (other.resource == requested.resource) {
            return invalid_argument("resource " + quoted(lock.resource) +
                                    " is given twice: give each resource once");
        }
    }
    if (resolved.requested_locks.empty()) resolved.lease = lock_class.lease;
    resolved.requested_locks.push_back(requested);
    resolved.max_hold = tighter(resolved.max_hold, lock_class.max_hold);
    resolved.max_lease = tighter(resolved.max_lease, lock_class.max_lease);
    return std::nullopt;
}

std::optional<Error> LockTable::Core::add_dependants(const LockRequest& lock,
                                                     const LockClass& lock_class, std::size_t root,
                                                     Resolved& resolved) {
    for (const Dependant& dependant : lock_class.dependants) {
        if (dependant.resource == lock.resource) continue;
        if (classes.of(dependant.resource).permits > 0) {
            return Error(ErrorCode::kind_mismatch,
                         "dependant " + quoted(dependant.resource) + " of " +
                             quoted(lock.resource) +
                             " is counted in permits and cannot be locked as a dependant");
        }
        // The limits of the dependant's own class apply as well.
        const LockClass& its_class = classes.of(dependant.resource);
        resolved.max_hold = tighter(resolved.max_hold, its_class.max_hold);
        resolved.max_lease = tighter(resolved.max_lease, its_class.max_lease);
        Resource& at = resource(dependant.resource);
        const auto same =
            std::find_if(resolved.requested_locks.begin(), resolved.requested_locks.end(),
                         [&](const RequestedLock& requested) { return requested.resource == &at; });
        if (same != resolved.requested_locks.end()) {
            same->mode = std::max(same->mode, dependant.mode);
            continue;
        }
        if (resolved.requested_locks.size() == limits::resources_per_grant) {
            Error error(ErrorCode::limit_exceeded,
                        "the set has more than 100 resources with its dependants");
            error.limit = limits::resources_per_grant;
            return error;
        }
        resolved.requested_locks.push_back(
            {.resource = &at, .cause = static_cast<std::uint8_t>(root), .mode = dependant.mode});
    }
    return std::nullopt;
}

std::optional<Error> LockTable::Core::check_draining(
    std::span<const RequestedLock> requested_locks) const {
    if (classes.draining() == 0) return std::nullopt;
    for (const RequestedLock& requested : requested_locks) {
        const std::string_view name = requested.resource->name();
        const LockClass* drained = classes.draining(name, requested.subtree);
        if (drained == nullptr) continue;
        const bool below = drained != &classes.of(name);
        std::string message =
            "resource " + quoted(name) + " cannot be locked now: " +
            (below ? "the class " + quoted(drained->pattern) + " of resources below it is drained"
                   : "its class " + quoted(drained->pattern) + " is drained");
        if (!drained->draining->empty()) message += " (" + *drained->draining + ")";
        return Error(ErrorCode::class_draining,
                     message + "; try again after an administrator has resumed the class");
    }
    return std::nullopt;
}

std::vector<LockRequest> LockTable::Core::choose_modes(const Session& session,
                                                       const QueuePlace& place,
                                                       std::vector<LockRequest> locks) {
    for (LockRequest& lock : locks) {
        for (const Mode mode : std::exchange(lock.modes, {})) {
            lock.mode = mode;
            const auto alone = resolve({lock});
            if (alone && !find_conflicts(session, alone->requested_locks, place).blocked) break;
        }
    }
    return locks;
}

namespace {

// Two hashes of the same bytes, which are computed together.
struct TwoHashes {
    std::uint64_t first = fnv_start;
    std::uint64_t second = fnv_start * 31;

    void add(std::string_view bytes) {
        for (const char byte : bytes) {
            first = (first ^ static_cast<unsigned char>(byte)) * fnv_prime;
            second = (second ^ static_cast<unsigned char>(byte)) * fnv_prime;
        }
    }
};

}  // namespace

RequestKey LockTable::Core::request_key(const SessionId* session, const OpenSession* opens,
                                        std::string_view request_id) const {
    if (request_id.empty()) return {};
    const std::string_view separator("\0", mutated(Mutant::keys_run_together) ? 0 : 1);
    TwoHashes hashes;
    if (session != nullptr) {
        hashes.add({reinterpret_cast<const char*>(session->bytes.data()), session->bytes.size()});
    } else {
        hashes.add(std::to_string(opens->uid));
        hashes.add(separator);
        hashes.add(opens->principal);
    }
    hashes.add(separator);
    hashes.add(request_id);
    return {hashes.first, hashes.second};
}

std::optional<Error> LockTable::Core::lease_too_long(const Resource& at, milliseconds lease) const {
    const LockClass& lock_class = classes.of(at.name());
    if (lease == no_expiry) {
        if (lock_class.no_expiry) return std::nullopt;
        return invalid_argument("resource " + quoted(at.name()) +
                                " cannot be locked without expiry, because its class does not "
                                "allow that: use a session with a lease");
    }
    const milliseconds longest = lock_class.max_lease;
    if (longest == milliseconds{0} || lease <= longest) return std::nullopt;
    return invalid_argument("a lease of " + exact_duration(lease) +
                            " is longer than the class of " + quoted(at.name()) +
                            " allows: at most " + exact_duration(longest));
}

std::optional<Error> LockTable::Core::lease_too_long(const Grant& grant, milliseconds lease) const {
    if (!classes.limit_leases() && lease != no_expiry) return std::nullopt;
    for (const Hold& hold : grant.holds()) {
        if (auto error = lease_too_long(*hold.resource(), lease)) return error;
    }
    return std::nullopt;
}

}  // namespace rocklock
