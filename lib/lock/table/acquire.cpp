// Executes Acquire. A repeated request is answered from its first execution. Otherwise the request
// is validated and resolved, locks that the session already holds are handled as `Held` demands,
// and the request is then granted, refused or queued, depending on its conflicts.
#include <algorithm>
#include <utility>

#include "base/duration_text.hpp"
#include "base/invalid_argument.hpp"
#include "base/mutant.hpp"
#include "lock/table/core.hpp"
#include "lock/table/lock_request.hpp"

namespace rocklock {

using lock_model::has_choice;
using lock_model::RequestedLock;
using lock_model::RequestKey;
using lock_model::tighter;
using lock_model::Wait;

namespace {

// Returns a value that is greater than the length of any name and than any value of `held`. A
// request without `modes` hashes one of these at the position at which a request with `modes`
// hashes this value. Therefore, the fingerprints of the two requests differ.
std::uint64_t fingerprint_of(const std::vector<Mode>& modes) {
    std::uint64_t value = 1;
    for (const Mode mode : modes) value = value * 4 + static_cast<std::uint64_t>(mode);
    return value << 32;
}

// Returns a hash of the members that must be equal in a repeated request: Locks, Held, MaxHoldMs,
// Any and MinHoldMs. It is stored on disk, so its computation must never change.
std::uint64_t fingerprint_of(const Acquire& request) {
    std::uint64_t hash = fnv_start;
    const auto add = [&](std::uint64_t value) { hash = fnv1a_of_number(value, hash); };
    for (const LockRequest& lock : request.locks) {
        add(lock.resource.size());
        hash = fnv1a(lock.resource, hash);
        add(lock.mode ? 1 + static_cast<std::uint64_t>(*lock.mode) : 0);
        add(lock.to ? 1 + static_cast<std::uint64_t>(*lock.to) : 0);
        add(lock.subtree ? 1 : 0);
        add(lock.permits);
        if (!lock.modes.empty()) add(fingerprint_of(lock.modes));
    }
    add(static_cast<std::uint64_t>(request.held));
    add(request.max_hold ? 1 + static_cast<std::uint64_t>(request.max_hold->count()) : 0);
    if (request.any) add(1);
    if (request.min_hold) {
        add(2);
        add(static_cast<std::uint64_t>(request.min_hold->count()));
    }
    return hash;
}

bool chooses(const Acquire& request) {
    return std::any_of(request.locks.begin(), request.locks.end(), has_choice);
}

std::optional<Error> check_acquire(const Acquire& request) {
    if (request.session.has_value() == request.opens.has_value()) {
        return invalid_argument("an acquire must give either a session or a principal");
    }
    if (request.locks.empty()) return invalid_argument("no resource is given: give 1 to 100");
    if (request.locks.size() > limits::resources_per_grant) {
        Error error(ErrorCode::limit_exceeded,
                    "a set of " + std::to_string(request.locks.size()) +
                        " resources is too large: at most 100 are allowed");
        error.limit = limits::resources_per_grant;
        return error;
    }
    if (request.patience < std::chrono::milliseconds{0}) {
        return invalid_argument("patience is negative: give 0 not to wait, or the wait timeout");
    }
    if (request.max_hold && (*request.max_hold <= std::chrono::milliseconds{0} ||
                             *request.max_hold > limits::lease_max)) {
        return invalid_argument("max_hold is out of range: give 1 ms to 30 days");
    }
    if (request.min_hold && (*request.min_hold <= std::chrono::milliseconds{0} ||
                             *request.min_hold > limits::lease_max)) {
        return invalid_argument("min_hold is out of range: give 1 ms to 30 days");
    }
    if (request.request_id.size() > limits::request_id_bytes) {
        return invalid_argument("request id is longer than 256 bytes");
    }
    if (request.any && chooses(request)) {
        return invalid_argument(
            "a request for any one of several locks has one mode for each of them: give mode or "
            "intent instead of modes");
    }
    return check_texts(request.note, request.metadata);
}

// Returns an estimate of the bytes of the grant, or of the largest one that may be granted.
std::uint64_t bytes_of_grant(const Acquire& request) {
    if (!request.any)
        return lock_model::bytes_of_grant(request.locks, request.note, request.metadata);
    std::uint64_t most = 0;
    for (const LockRequest& lock : request.locks)
        most = std::max(most, lock_model::bytes_of_grant({lock}, request.note, request.metadata));
    return most;
}

// `max_hold` is the shortest one of the request and of the classes; 0: no limit.
std::optional<Error> check_min_hold(const Acquire& request, std::chrono::milliseconds max_hold) {
    const auto min_hold = request.min_hold.value_or(std::chrono::milliseconds{0});
    if (max_hold == std::chrono::milliseconds{0} || min_hold <= max_hold) return std::nullopt;
    return invalid_argument("min_hold is " + exact_duration(min_hold) +
                            ", but the lock can be held for at most " + exact_duration(max_hold) +
                            " (max_hold)");
}

std::vector<LockRequest> in_weakest_modes(std::vector<LockRequest> locks) {
    for (LockRequest& lock : locks) {
        if (!has_choice(lock)) continue;
        lock.mode = *std::min_element(lock.modes.begin(), lock.modes.end());
        lock.modes.clear();
    }
    return locks;
}

}  // namespace

// ---- Acquiring ----

// Returns an error if the request would exceed the limits of its user, or if the disk is almost
// full. `session` is null if the request opens a session.
std::optional<Error> LockTable::Core::check_user(const Acquire& request,
                                                 const Session* session) const {
    if (usage.growth_refused()) return usage.growth_refused();
    if (!usage.counts()) return std::nullopt;
    const std::uint64_t bytes = bytes_of_grant(request);
    if (session != nullptr) return usage.check_grant(session->uid, bytes);
    const std::uint64_t own = lock_model::bytes_of_session(*request.opens);
    if (auto error = usage.check_session(request.opens->uid, own)) return error;
    return usage.check_grant(request.opens->uid, own + bytes);
}

std::optional<Error> LockTable::Core::check_classes(const Acquire& request,
                                                    const Resolved& resolved,
                                                    milliseconds lease) const {
    if (lease == no_expiry) {
        for (const RequestedLock& requested : resolved.requested_locks) {
            if (auto error = lease_too_long(*requested.resource, lease)) return error;
        }
    } else if (resolved.max_lease > milliseconds{0} && lease > resolved.max_lease) {
        return invalid_argument("a lease of " + exact_duration(lease) +
                                " is longer than the class allows: at most " +
                                exact_duration(resolved.max_lease));
    }
    if (auto error = check_priority(request.priority, resolved.requested_locks)) return error;
    milliseconds max_hold = tighter(resolved.max_hold, request.max_hold.value_or(milliseconds{0}));
    for (const Alternative& each : resolved.alternatives)
        max_hold = tighter(each.max_hold, max_hold);
    return check_min_hold(request, max_hold);
}

void LockTable::Core::handle(const Acquire& request) {
    if (auto error = check_acquire(request)) return refuse(ticket, *std::move(error));
    const RequestKey id =
        request_key(request.session ? &*request.session : nullptr,
                    request.opens ? &*request.opens : nullptr, request.request_id);
    const std::uint64_t fingerprint = id ? fingerprint_of(request) : 0;
    if (id && replay(id, fingerprint, request)) return;

    Session* session = nullptr;
    if (request.session) {
        session = require_session(*request.session);
        if (session == nullptr) return;
        // The request counts as activity even if it is refused.
        session->active = now.boot;
    }
    const Slot slot = id ? Slot::with_request : Slot::with;
    auto resolved = request.any ? resolve_any(request.locks, slot) : resolve(request.locks, slot);
    if (!resolved) return refuse(ticket, std::move(resolved).error());
    const milliseconds lease =
        session != nullptr ? session->lease : request.opens->lease.value_or(resolved->lease);
    if (auto error = check_classes(request, *resolved, lease))
        return refuse(ticket, *std::move(error));
    if (session == nullptr) {
        if (auto error = check_open(*request.opens, lease))
            return refuse(ticket, *std::move(error));
    } else if (check_own_holds(request, *session, *resolved)) {
        return;
    }

    if (auto error = check_draining(resolved->requested_locks))
        return refuse(ticket, *std::move(error));
    if (auto error = check_user(request, session)) return refuse(ticket, *std::move(error));
    if (session == nullptr) {
        session = &make_session(*request.opens, lease, RequestKey{});
        session->only_grant.set = true;
        session->unborn = true;
    }
    // Cannot fail: the strongest modes were checked above, and weaker ones need no more.
    if (chooses(request))
        resolved = resolve(choose_modes(*session, arriving(request.priority), request.locks));
    ROCKLOCK_ASSERT(resolved.has_value() && !resolved->requested_locks.empty());
    grant_or_wait(request, *session, *resolved, id, fingerprint);
}

void LockTable::Core::grant_or_wait(const Acquire& request, Session& session,
                                    const Resolved& resolved, const RequestKey& id,
                                    std::uint64_t fingerprint) {
    const QueuePlace place = arriving(request.priority);
    Conflicts conflicts = find_conflicts(session, resolved, place);
    if (conflicts.blocked && request.patience == milliseconds{0}) {
        conflicts = find_conflicts(session, resolved, place, Collect::holds_and_waits);
        refuse(ticket, conflict(ErrorCode::conflict, session, conflicts));
        if (session.unborn) free_session(session);
        return;
    }
    milliseconds max_hold = tighter(resolved.max_hold, request.max_hold.value_or(milliseconds{0}));
    const milliseconds min_hold = request.min_hold.value_or(milliseconds{0});
    if (!conflicts.blocked) {
        std::span<const RequestedLock> locks = resolved.requested_locks;
        if (request.any) {
            const Alternative& chosen = resolved.alternatives[conflicts.alternative];
            locks = locks.subspan(chosen.first, chosen.count);
            max_hold = tighter(chosen.max_hold, max_hold);
        }
        auto cycle = cycle_when_granted(session, locks, request.priority);
        if (!cycle.empty()) return refuse(ticket, deadlock(std::move(cycle)));
        const lock_model::GrantRequest grant_request{.session = &session,
                                                     .note = request.note,
                                                     .metadata = &request.metadata,
                                                     .max_hold = max_hold,
                                                     .request = {id, fingerprint},
                                                     .min_hold = min_hold};
        answer_grant(ticket, make_grant(grant_request, locks, conflicts.dead));
        return;
    }
    auto wait = std::make_unique<Wait>();
    wait->ticket = ticket;
    wait->session = &session;
    wait->priority = request.priority;
    wait->alternatives = resolved.alternatives;
    wait->held = request.held;
    wait->note = request.note;
    wait->metadata = request.metadata;
    wait->hold_times.max = max_hold;
    wait->hold_times.min = min_hold;
    wait->request = id;
    wait->fingerprint = fingerprint;
    wait->patience_ends = lock_model::patience_end(now.boot, request.patience);
    begin_wait(std::move(wait), resolved.requested_locks);
}

bool LockTable::Core::replay(const RequestKey& id, std::uint64_t fingerprint,
                             const Acquire& request) {
    const RequestOutcome seen = requests.find(id);
    if (!seen) return false;
    const auto differs = [&] {
        refuse(ticket, {ErrorCode::parameter_mismatch,
                        "this request id was used before with other locks: use a new one"});
        return true;
    };
    if (Wait* const waiting = seen.wait()) {
        ROCKLOCK_ASSERT(waiting->request == id);
        if (waiting->fingerprint != fingerprint) return differs();
        // The repeated request takes over the position in the queue, because the connection of the
        // earlier one is assumed to be lost.
        refuse(waiting->ticket, {ErrorCode::cancelled,
                                 "the same request was sent again, and the later one waits now"});
        ROCKLOCK_ASSERT(waits.find(ticket) == nullptr);
        waits.move(*waiting, ticket);
        waiting->listed.recheck = false;
        waiting->patience_ends = lock_model::patience_end(now.boot, request.patience);
        serving.add_wait(*waiting);
        return true;
    }
    const Grant* const found = grants.find(seen.grant());
    if (found == nullptr) {
        decision->history.push_back({ticket, request.session.value_or(SessionId{}), seen.grant(),
                                     HistoryLookup::Verb::replay, fingerprint});
        return true;
    }
    const Grant& grant = *found;
    const lock_model::RequestIdentity first = grant.request();
    if (first.key != id) return false;
    if (first.fingerprint != fingerprint) return differs();
    ++counts.replays;
    rocklock::Grant& reply = answer_grant(ticket, grant);
    if (!lock_model::live(grant, now.boot)) reply.ended = ending_of(grant);
    return true;
}

lock_model::Hold* LockTable::Core::own_hold(const Session& session, const Resource& at) const {
    const auto good = [&](const Hold& hold) {
        return hold.resource() == &at && hold.root() && lock_model::live(hold, now.boot);
    };
    // Search the shorter list.
    if (at.holds() <= session.grants) {
        for (Hold* hold = at.newest_hold(); hold != nullptr; hold = hold->next()) {
            if (hold->grant()->session == &session && good(*hold)) return hold;
        }
        return nullptr;
    }
    for (Grant* grant = session.first; grant != nullptr; grant = grant->next) {
        for (Hold& hold : grant->holds()) {
            if (good(hold)) return &hold;
        }
    }
    return nullptr;
}

// Returns a live grant of the session that alone covers every requested lock in the same or a
// stronger mode, or null.
lock_model::Grant* LockTable::Core::own_cover(
    Session& session, std::span<const RequestedLock> requested_locks) const {
    ROCKLOCK_ASSERT(!requested_locks.empty());
    const auto meets = [&](const Hold& hold, const RequestedLock& requested) {
        return hold.resource() == requested.resource && covers(hold.mode, requested.mode) &&
               hold.permits() >= requested.permits && (hold.subtree || !requested.subtree);
    };
    for (Hold* first = requested_locks.front().resource->newest_hold(); first != nullptr;
         first = first->next()) {
        Grant* grant = first->grant();
        if (grant->session != &session || !lock_model::live(*grant, now.boot)) continue;
        const auto holds = grant->holds();
        const bool covers_all = std::all_of(
            requested_locks.begin(), requested_locks.end(), [&](const RequestedLock& requested) {
                return std::any_of(holds.begin(), holds.end(),
                                   [&](const Hold& hold) { return meets(hold, requested); });
            });
        if (covers_all) return grant;
    }
    return nullptr;
}

// A hold that was acquired as a dependant does not count as held. The session can acquire that
// resource directly in addition.
bool LockTable::Core::check_own_holds(Ticket to, Session& session,
                                      std::span<const RequestedLock> requested_locks, Held held) {
    const Grant* same = nullptr;
    for (const RequestedLock& requested : requested_locks) {
        if (!requested.root()) continue;
        const Hold* own = own_hold(session, *requested.resource);
        if (own != nullptr) same = own->grant();
    }
    if (same == nullptr) return false;
    Grant* cover = held == Held::refuse ? nullptr : own_cover(session, requested_locks);
    if (cover == nullptr) {
        Error error(ErrorCode::already_held,
                    held == Held::refuse ? "this session already holds the resource: release or "
                                           "convert that grant, or join it"
                                         : "this session already holds a requested resource, but "
                                           "none of its grants covers the whole request");
        error.grant = same->id();
        refuse(to, std::move(error));
        return true;
    }
    use_own_grant(to, session, *cover, held);
    return true;
}

void LockTable::Core::use_own_grant(Ticket to, Session& session, Grant& cover, Held held) {
    // This response also delivers the grant. Therefore, the grant must not be released if an
    // earlier response is reported as lost.
    if (held == Held::join) cover.confirmed = true;
    if (held == Held::count) {
        ++cover.with_extra().count;
        extend(session);
        write_grant(cover);
        need(Durability::durable);
    }
    answer_grant(to, cover);
}

bool LockTable::Core::check_own_alternatives(Ticket to, Session& session,
                                             std::span<const RequestedLock> requested_locks,
                                             std::span<const Alternative> alternatives, Held held) {
    const Grant* same = nullptr;
    bool holds_all = true;
    for (const Alternative& one : alternatives) {
        const auto locks = requested_locks.subspan(one.first, one.count);
        const Hold* own = own_hold(session, *locks.front().resource);
        if (own == nullptr) {
            holds_all = false;
            continue;
        }
        same = own->grant();
        Grant* cover = held == Held::refuse ? nullptr : own_cover(session, locks);
        if (cover == nullptr) continue;
        use_own_grant(to, session, *cover, held);
        return true;
    }
    if (!holds_all) return false;
    Error error(ErrorCode::already_held,
                "this session already holds each of the resources: release one of them, or name "
                "others");
    error.grant = same->id();
    refuse(to, std::move(error));
    return true;
}

bool LockTable::Core::check_own_holds(const Acquire& request, Session& session,
                                      const Resolved& strongest) {
    if (request.any) {
        return check_own_alternatives(ticket, session, strongest.requested_locks,
                                      strongest.alternatives, request.held);
    }
    if (!chooses(request))
        return check_own_holds(ticket, session, strongest.requested_locks, request.held);
    const auto weakest = resolve(in_weakest_modes(request.locks));
    return check_own_holds(ticket, session, weakest->requested_locks, request.held);
}

}  // namespace rocklock
