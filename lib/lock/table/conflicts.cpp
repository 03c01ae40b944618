// Finds the conflicts of a request, and makes the error of a request that is refused because of
// them.
//
// A request conflicts with live holds of other sessions on its names, on names above them if the
// hold has `subtree`, and on names below them if the request has `subtree`; with closures of its
// names; and with requests of other sessions that wait before it. find_conflicts() does not change
// the table. It stops at the first conflict unless conflicts have to be listed.
#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "base/duration_text.hpp"
#include "base/mutant.hpp"
#include "lock/table/core.hpp"

namespace rocklock {

using lock_model::Conflicts;
using lock_model::RequestedLock;
using lock_model::Resource;
using lock_model::Wait;
using lock_model::WaitLock;

namespace {

// The maximum number of blockers and of waiters that an error lists.
constexpr std::size_t shown_limit = 100;
// The maximum number of queue entries that are examined in order to list waiters.
constexpr std::size_t read_limit = 1000;

// Returns whether a name of this class may stay closed after a grant on it has ended.
bool closes(const LockClass& lock_class) {
    return lock_class.min_hold.count() > 0 || lock_class.lock_delay.count() > 0;
}

// Returns whether the modes of two requested locks, or of a requested lock and a hold, on the same
// name conflict. Permits never conflict here; add_permits() compares their sum with the limit.
bool conflicts_with(Mode a, std::uint32_t permits_a, Mode b, std::uint32_t permits_b) {
    if (permits_a > 0 && permits_b > 0) return false;
    return conflicting(a, b);
}

// Returns whether the search for waiters can stop. One conflict suffices unless waiters are listed.
// The list is limited as well, because each of many waiters may search a long queue.
bool is_complete(const Conflicts& conflicts, std::size_t examined) {
    if (!conflicts.blocked) return false;
    return conflicts.collect != lock_model::Collect::holds_and_waits ||
           conflicts.waits.size() == shown_limit || examined > read_limit;
}

// Adds the conflicts of one alternative to those of all alternatives before it. Alternatives with
// common dependants have common conflicts.
void add_blocked(const Conflicts& one, Conflicts& all) {
    const auto add = [](const auto& from, auto& to) {
        for (const auto& each : from) {
            if (to.size() == shown_limit) return;
            if (std::find(to.begin(), to.end(), each) == to.end()) to.push_back(each);
        }
    };
    add(one.holds, all.holds);
    add(one.waits, all.waits);
    all.recheck_at = std::min(all.recheck_at, one.recheck_at);
    if (one.closed_until)
        all.closed_until =
            std::min(all.closed_until.value_or(*one.closed_until), *one.closed_until);
}

// Returns whether a conversion of the hold's grant is waiting.
bool is_converted(const lock_model::Hold& hold) {
    const auto& waits = hold.grant()->session->waits;
    return std::any_of(waits.begin(), waits.end(),
                       [&](const Wait* wait) { return wait->converts == hold.grant(); });
}

}  // namespace

// ---- Conflicts ----

Conflicts LockTable::Core::find_conflicts(const Session& session,
                                          std::span<const RequestedLock> requested_locks,
                                          const QueuePlace& place, Collect collect) const {
    Conflicts conflicts;
    conflicts.collect = collect;
    // One conflict suffices unless they are to be listed.
    for (const RequestedLock& requested : requested_locks) {
        if (conflicts.blocked && collect == Collect::nothing) break;
        add_holds(session, requested, conflicts);
    }
    for (const RequestedLock& requested : requested_locks) {
        if (conflicts.blocked && collect != Collect::holds_and_waits) break;
        add_waits(session, requested, place, conflicts);
    }
    return conflicts;
}

// An alternative that the session itself holds cannot be granted to it again, whatever its mode.
Conflicts LockTable::Core::find_conflicts_of_any(const Session& session,
                                                 std::span<const RequestedLock> requested_locks,
                                                 std::span<const Alternative> alternatives,
                                                 const QueuePlace& place, Collect collect) const {
    ROCKLOCK_ASSERT(!alternatives.empty());
    Conflicts all;
    all.collect = collect;
    all.blocked = true;
    for (std::size_t i = 0; i < alternatives.size(); ++i) {
        const auto locks = requested_locks.subspan(alternatives[i].first, alternatives[i].count);
        if (const Hold* own = own_hold(session, *locks.front().resource)) {
            // If this hold expires, the request must be examined at its place in the queue, before
            // later requests.
            all.recheck_at = std::min({all.recheck_at, session.deadline, own->grant()->cap()});
            continue;
        }
        Conflicts one = find_conflicts(session, locks, place, collect);
        if (!one.blocked) {
            one.alternative = i;
            return one;
        }
        add_blocked(one, all);
    }
    return all;
}

Conflicts LockTable::Core::find_conflicts(const Session& session, const Resolved& resolved,
                                          const QueuePlace& place, Collect collect) const {
    if (resolved.alternatives.empty())
        return find_conflicts(session, resolved.requested_locks, place, collect);
    return find_conflicts_of_any(session, resolved.requested_locks, resolved.alternatives, place,
                                 collect);
}

Conflicts LockTable::Core::find_conflicts(const Wait& wait, Collect collect) const {
    if (!wait.any())
        return find_conflicts(*wait.session, wait.requested_locks, wait.place, collect);
    return find_conflicts_of_any(*wait.session, wait.requested_locks, wait.alternatives, wait.place,
                                 collect);
}

void LockTable::Core::add_hold(const Session& session, const RequestedLock& requested,
                               const Hold& hold, Conflicts& conflicts) const {
    if (hold.grant()->session == &session) return;
    if (mutated(Mutant::upgrade_lets_go) && is_converted(hold)) return;
    if (!conflicts_with(hold.mode, hold.permits(), requested.mode, requested.permits)) return;
    if (lock_model::live(hold, now.boot)) {
        add_live_hold(hold, conflicts);
    } else {
        conflicts.dead.push_back(hold.grant()->id());
    }
}

void LockTable::Core::add_live_hold(const Hold& hold, Conflicts& conflicts) const {
    conflicts.blocked = true;
    conflicts.recheck_at =
        std::min({conflicts.recheck_at, hold.grant()->session->deadline, hold.grant()->cap()});
    ROCKLOCK_ASSERT(conflicts.recheck_at > now.boot);
    if (conflicts.collect != Collect::nothing && conflicts.holds.size() < shown_limit) {
        conflicts.holds.push_back(&hold);
    }
}

void LockTable::Core::add_closure(BootTime until, Conflicts& conflicts) const {
    conflicts.blocked = true;
    conflicts.recheck_at = std::min(conflicts.recheck_at, until);
    conflicts.closed_until = std::max(conflicts.closed_until.value_or(BootTime::min()), until);
}

// If fewer permits are left than requested, every live holder of permits is a conflict.
void LockTable::Core::add_permits(const RequestedLock& requested, Conflicts& conflicts) const {
    const Resource& at = *requested.resource;
    if (at.holds() == 0) return;
    std::uint64_t taken = 0;
    for (const Hold* hold = at.newest_hold(); hold != nullptr; hold = hold->next()) {
        if (lock_model::live(*hold, now.boot)) {
            taken += hold->permits();
        } else {
            conflicts.dead.push_back(hold->grant()->id());
        }
    }
    if (taken + requested.permits <= classes.of(at.name()).permits) return;
    for (const Hold* hold = at.newest_hold(); hold != nullptr; hold = hold->next()) {
        if (lock_model::live(*hold, now.boot)) add_live_hold(*hold, conflicts);
    }
}

void LockTable::Core::add_closures(const Resource& at, Conflicts& conflicts) const {
    if (at.extra() && at.extra()->closed_until > now.boot)
        add_closure(at.extra()->closed_until, conflicts);
    // The end of an expired grant may close its resource for every session. This must be taken into
    // account even if the grant has not been cleaned up yet.
    if (at.holds() == 0) return;
    const bool may_close =
        hold_marks.grants_with_min_hold > 0 || (!classes.empty() && closes(classes.of(at.name())));
    if (!may_close) return;
    for (const Hold* hold = at.newest_hold(); hold != nullptr; hold = hold->next()) {
        if (lock_model::live(*hold, now.boot)) continue;
        const auto closure = closure_of(*hold, ending_of(*hold->grant()).outcome);
        if (closure) add_closure(closure->until, conflicts);
    }
}

void LockTable::Core::add_holds(const Session& session, const RequestedLock& requested,
                                Conflicts& conflicts) const {
    add_closures(*requested.resource, conflicts);
    if (requested.permits > 0) add_permits(requested, conflicts);
    for_each_meeting(requested, [&](const Resource& at, bool only_subtree) {
        if (requested.permits > 0 && &at == requested.resource) return;
        if (requested.mode == Mode::read && at.strong() == 0) return;
        for (const Hold* hold = at.newest_hold(); hold != nullptr; hold = hold->next()) {
            // One conflict suffices unless the conflicts have to be listed: the request cannot be
            // granted before this hold has ended, and is examined again then.
            if (conflicts.blocked && conflicts.collect == Collect::nothing) return;
            if (!only_subtree || hold->subtree) add_hold(session, requested, *hold, conflicts);
        }
    });
}

bool LockTable::Core::held_covers(const Session& session, const Resource& at,
                                  const RequestedLock& requested, bool below) const {
    for (const Hold* hold = at.newest_hold(); hold != nullptr; hold = hold->next()) {
        if (hold->grant()->session != &session || !lock_model::live(*hold, now.boot)) continue;
        if (hold->permits() > 0 || !covers(hold->mode, requested.mode)) continue;
        if (hold->subtree || (!below && !requested.subtree)) return true;
    }
    return false;
}

bool LockTable::Core::covered(const Session& session, const RequestedLock& requested) const {
    if (requested.permits > 0 || session.first == nullptr) return false;
    if (held_covers(session, *requested.resource, requested, false)) return true;
    if (hold_marks.subtrees == 0) return false;
    for (const Resource* above = requested.resource->parent(); above != nullptr;
         above = above->parent()) {
        if (held_covers(session, *above, requested, true)) return true;
    }
    return false;
}

// Returns whether an entry of a queue blocks `requested`, whose request is behind it.
bool LockTable::Core::blocks(const WaitLock& lock, const Session& session,
                             const RequestedLock& requested) const {
    const Wait& other = *lock.wait;
    if (other.session == &session || !other.session->live(now.boot)) return false;
    return lock_model::in_conflict(*lock.requested, requested);
}

void LockTable::Core::add_waits(const Session& session, const RequestedLock& requested,
                                const QueuePlace& place, Conflicts& conflicts) const {
    const bool any =
        requested.resource->queue() != nullptr || hold_marks.subtrees > 0 || requested.subtree;
    if (!any || covered(session, requested)) return;
    const bool new_reader =
        place.order == QueuePlace::newest && requested.mode == Mode::read && requested.permits == 0;
    if (mutated(Mutant::reader_overtakes_writer) && new_reader) return;
    std::size_t examined = 0;
    for_each_meeting(requested, [&](const Resource& at, bool only_subtree) {
        for (const WaitLock* lock = at.queue(); lock != nullptr; lock = lock->next) {
            if (!lock->wait->place.before(place)) return;
            if (is_complete(conflicts, examined++)) return;
            const bool reaches = !only_subtree || lock->requested->subtree;
            if (!reaches || !blocks(*lock, session, requested)) continue;
            conflicts.blocked = true;
            if (conflicts.collect == Collect::holds_and_waits) conflicts.waits.push_back(lock);
        }
    });
}

// ---- Refusals, with their facts ----

Holder LockTable::Core::show_holder(const Hold& hold) const {
    const Grant& grant = *hold.grant();
    const Session& session = *grant.session;
    const BootTime deadline = std::min(session.deadline, grant.cap());
    Holder holder;
    holder.resource = hold.resource()->name();
    holder.mode = hold.mode;
    holder.subtree = hold.subtree;
    holder.permits = hold.permits();
    holder.grant = grant.id();
    holder.token = grant.token();
    holder.principal = session.principal;
    holder.session = session.id;
    holder.uid = session.uid;
    holder.pid = session.binding.pid;
    holder.acquired_at = wall_of(grant.acquired());
    holder.remaining = lock_model::time_until(deadline, now.boot);
    holder.deadline = wall_of(deadline);
    holder.note = session.note;
    holder.metadata = session.metadata;
    if (grant.extra()) {
        if (!grant.extra()->note.empty()) holder.note = grant.extra()->note;
        for (const auto& [name, value] : grant.extra()->metadata) holder.metadata[name] = value;
    }
    if (!hold.root()) holder.cause = grant.holds()[hold.cause()].resource()->name();
    return holder;
}

Waiter LockTable::Core::name_waiter(const WaitLock& lock) const {
    Waiter waiter;
    waiter.resource = lock.requested->resource->name();
    waiter.mode = lock.requested->mode;
    waiter.permits = lock.requested->permits;
    waiter.principal = lock.wait->session->principal;
    waiter.session = lock.wait->session->id;
    waiter.since = lock.wait->since;
    waiter.priority = lock.wait->priority;
    waiter.any = lock.wait->any();
    return waiter;
}

Waiter LockTable::Core::show_waiter(const WaitLock& lock) const {
    Waiter waiter = name_waiter(lock);
    waiter.position = 1;
    for (const WaitLock* at = &lock; at->previous != nullptr; at = at->previous) {
        // Alternatives with a common dependant have neighboring entries in its queue.
        if (at->previous->wait != at->wait) ++waiter.position;
    }
    return waiter;
}

Error LockTable::Core::conflict(ErrorCode code, const Session& session,
                                const Conflicts& conflicts) const {
    ROCKLOCK_ASSERT(code == ErrorCode::conflict || code == ErrorCode::patience_expired);
    Error error(code, {});
    for (const Hold* hold : conflicts.holds) {
        error.blockers.push_back(show_holder(*hold));
        error.blockers.back().you = hold->grant()->session->principal == session.principal;
    }
    for (const WaitLock* lock : conflicts.waits) error.waiters.push_back(show_waiter(*lock));
    if (conflicts.closed_until) {
        error.retry_after = std::chrono::ceil<milliseconds>(*conflicts.closed_until - now.boot);
    }
    error.message =
        code == ErrorCode::conflict ? "not granted: " : "not granted within the wait timeout: ";
    if (!error.blockers.empty()) {
        const Holder& first = error.blockers.front();
        error.message +=
            "\"" + first.resource + "\" is held by " +
            (first.you ? "you (" + first.principal + ", in another session)" : first.principal) +
            (first.permits > 0 ? " (" + std::to_string(first.permits) + " of its permits)"
                               : " in mode " + std::string(to_string(first.mode))) +
            (first.remaining == no_expiry ? " without expiry"
                                          : " for another " + format_duration(first.remaining));
        if (!first.note.empty()) error.message += " (" + first.note + ")";
    } else if (error.retry_after) {
        error.message += "it is free, but min_hold or lock_delay keeps it closed for another " +
                         format_duration(*error.retry_after);
    } else if (!error.waiters.empty()) {
        error.message += error.waiters.front().principal + " already waits for it";
    }
    return error;
}

}  // namespace rocklock
