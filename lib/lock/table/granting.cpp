// Makes grants, their records and their responses; executes Reacquire.
#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "base/invalid_argument.hpp"
#include "base/mutant.hpp"
#include "lock/table/core.hpp"
#include "lock/table/lock_request.hpp"

namespace rocklock {

using lock_model::quoted;
using lock_model::RequestedLock;
using lock_model::tighter;

namespace {

// For a mutant: all holders of a resource get the deadline of the newest one.
void share_lease(const lock_model::Grant& newest) {
    const lock_model::Hold* hold = newest.holds().front().resource()->newest_hold();
    for (; hold != nullptr; hold = hold->next()) {
        BootTime& deadline = hold->grant()->session->deadline;
        deadline = std::max(deadline, newest.session->deadline);
    }
}

}  // namespace

// ---- Granting ----

lock_model::Grant& LockTable::Core::new_grant(std::span<const RequestedLock> requested_locks) {
    const RequestedLock& first = requested_locks.front();
    if (requested_locks.size() == 1 && first.permits == 0 && first.root() &&
        first.resource->can_hold_plain()) {
        const GrantId before = first.resource->last().grant();
        lock_model::PlainGrant& plain = first.resource->make_plain();
        plain.hold.mode = first.mode;
        plain.hold.subtree = first.subtree;
        plain.hold.set_before(before);
        return plain;
    }
    lock_model::LinkedGrant& grant = *Grant::make(requested_locks.size());
    for (std::size_t i = 0; i < requested_locks.size(); ++i) {
        lock_model::LinkedHold& hold = grant.linked_holds()[i];
        hold.at = requested_locks[i].resource;
        hold.mode = requested_locks[i].mode;
        hold.subtree = requested_locks[i].subtree;
        hold.permit_count = requested_locks[i].permits;
        hold.cause_index = requested_locks[i].cause;
        hold.set_before(hold.at->last().grant());
    }
    return grant;
}

lock_model::Grant& LockTable::Core::make_grant(const lock_model::GrantRequest& grant_request,
                                               std::span<const RequestedLock> requested_locks,
                                               const std::vector<GrantId>& dead) {
    Session& session = *grant_request.session;
    ROCKLOCK_ASSERT(session.live(now.boot));
    // Grants that have expired and would conflict are ended in the same batch.
    end_dead(dead, session);
    Grant& grant = new_grant(requested_locks);
    grant.set_id(GrantId{number(numbers.take_token())});
    grant.session = &session;
    grant.set_acquired(now.boot);
    grant.waited = grant_request.waited;
    for (Hold& hold : grant.holds()) {
        // A fencing token is greater than those of all earlier grants on the name.
        ROCKLOCK_ASSERT(hold.before() < grant.id() || mutated(Mutant::token_from_memory));
        link(hold);
        ++(hold.permits() > 0 ? counts.permits_granted
                              : counts.locks_granted[static_cast<std::size_t>(hold.mode)]);
    }
    grant.previous = session.last;
    (session.last != nullptr ? session.last->next : session.first) = &grant;
    session.last = &grant;
    ++session.grants;
    grants.add(grant);
    ++counts.granted;

    if (!grant_request.note.empty() || !grant_request.metadata->empty()) {
        auto& extra = grant.with_extra();
        extra.note = grant_request.note;
        extra.metadata = *grant_request.metadata;
    }
    if (grant_request.request.key) {
        grant.set_request(grant_request.request);
        requests.set(grant_request.request.key, RequestOutcome(grant.id()));
    }
    if (usage.counts()) usage.add_grant(session.uid, lock_model::bytes_of_grant(grant));
    if (grant_request.max_hold > milliseconds{0}) {
        remember_cap(grant, grant_request.max_hold, now.boot + grant_request.max_hold);
    }
    remember_min_hold(grant, grant_request.min_hold);
    const bool ran_on =
        mutated(Mutant::lease_from_request) && grant_request.waited && !session.unborn;
    if (!ran_on) extend(session);
    session.active = now.boot;
    if (mutated(Mutant::shared_lease)) share_lease(grant);
    if (session.unborn) {
        session.unborn = false;
        session.only_grant.id = grant.id();
        write_session(session);
    }
    write_grant(grant);
    if (grant.hold_count > 1) {
        write(Family::locks, records::set_key(grant.id()), records::encode_set(grant));
    }
    if (options.events) note_grant(grant);
    need(Durability::durable);
    ROCKLOCK_ASSERT(grant.version() != 0 && !session.unborn && session.grants > 0);
    recheck_covered(grant);
    return grant;
}

// Expired grants of the taker itself are left to the sweep. If one of them were the only grant of a
// session that was opened for it, ending it would end the session that is receiving the new grant.
void LockTable::Core::end_dead(const std::vector<GrantId>& dead, const Session& taker) {
    for (const GrantId id : dead) {
        Grant* const old = grants.find(id);
        if (old != nullptr && old->session != &taker) end_grant(*old, ending_of(*old));
    }
}

void LockTable::Core::remember_cap(Grant& grant, milliseconds max_hold, BootTime cap) {
    auto& extra = grant.with_extra();
    extra.max_hold = max_hold;
    extra.cap = cap;
    timers.grants.set(extra.timer, cap);
}

void LockTable::Core::remember_min_hold(Grant& grant, milliseconds min_hold) {
    if (min_hold == milliseconds{0}) return;
    auto& extra = grant.with_extra();
    ROCKLOCK_ASSERT(extra.min_hold == milliseconds{0});
    extra.min_hold = min_hold;
    ++hold_marks.grants_with_min_hold;
}

void LockTable::Core::link(Hold& hold) {
    ROCKLOCK_ASSERT(hold.resource() != nullptr && hold.grant() != nullptr);
    Resource& at = *hold.resource();
    if (!hold.plain) at.link(static_cast<lock_model::LinkedHold&>(hold));
    at.set_last(lock_model::LastGrant(hold.grant()->id()));
    if (hold.subtree) ++hold_marks.subtrees;
    if (hold.mode == Mode::exclusive) hold_marks.exclusive.begin(at.name(), hold.subtree);
}

void LockTable::Core::unlink(Hold& hold) {
    Resource& at = *hold.resource();
    // Grant::destroy() frees the slot of a plain hold.
    if (!hold.plain) at.unlink(static_cast<lock_model::LinkedHold&>(hold));
    ROCKLOCK_ASSERT(!hold.subtree || hold_marks.subtrees > 0);
    if (hold.subtree) --hold_marks.subtrees;
    if (hold.mode == Mode::exclusive) hold_marks.exclusive.end(at.name(), hold.subtree);
    serving.add_maybe_empty(at);
}

void LockTable::Core::write_grant(Grant& grant) {
    grant.set_version(numbers.take_version());
    std::vector<records::Closure> closures;
    if (grant.extra() && grant.extra()->min_hold > milliseconds{0}) {
        closures.push_back(
            {0, grant.acquired() + grant.extra()->min_hold, grant.extra()->min_hold});
    }
    write(Family::locks, records::grant_key(grant.id()),
          records::encode_grant(grant, boot_epoch, wall_of(grant.acquired()), nullptr, closures));
}

rocklock::Grant LockTable::Core::view(const Grant& grant) const {
    rocklock::Grant result;
    fill_view(result, grant);
    return result;
}

void LockTable::Core::fill_view(rocklock::Grant& result, const Grant& grant) const {
    result.id = grant.id();
    result.token = grant.token();
    result.session = grant.session->id;
    result.waited = grant.waited;
    result.count = grant.count();
    const BootTime cap = grant.cap();
    if (cap < BootTime::max()) result.cap = cap;
    const BootTime deadline = std::min(grant.session->deadline, cap);
    result.deadline = deadline;
    result.deadline_wall = wall_of(deadline);
    result.remaining = std::max(lock_model::time_until(deadline, now.boot), milliseconds{0});
    result.locks.reserve(grant.hold_count);
    for (const Hold& hold : grant.holds()) {
        GrantedLock& lock = result.locks.emplace_back();
        // Faster than an assignment of the view.
        lock.resource = std::string(hold.resource()->name());
        lock.mode = hold.mode;
        lock.subtree = hold.subtree;
        lock.permits = hold.permits();
        if (!hold.root()) lock.cause = grant.holds()[hold.cause()].resource()->name();
    }
}

rocklock::Grant& LockTable::Core::answer_grant(Ticket to, const Grant& grant) {
    auto& reply = decision->replies.emplace_back(to, std::in_place_type<rocklock::Grant>);
    auto& result = std::get<rocklock::Grant>(*reply.answer);
    fill_view(result, grant);
    if (grant.session->only_grant.set) result.own_session = info_with_secret(*grant.session);
    return result;
}

// ---- Reacquiring lost grants ----

void LockTable::Core::handle(const Reacquire& request) {
    Session* session = require_session(request.session);
    if (session == nullptr) return;
    Grant* const found = grants.find(request.grant);
    if (found != nullptr) {
        Grant& grant = *found;
        if (lock_model::live(grant, now.boot)) {
            if (grant.session != session) {
                return refuse(ticket, {ErrorCode::not_owner, "another session holds this grant"});
            }
            answer_grant(ticket, grant);
            return;
        }
        // The grant has expired but is not cleaned up. It is moved to the history now, and the
        // request is answered from there.
        end_grant(grant, ending_of(grant));
        need(Durability::durable);
    }
    decision->history.push_back(
        {ticket, request.session, request.grant, HistoryLookup::Verb::reacquire, 0});
}

// Returns whether, after `grant`, this name or a name above it has been granted again or a grant on
// it has been upgraded. The names below a subtree may have been forgotten, so for a subtree any
// grant or upgrade in the whole table counts.
bool LockTable::Core::granted_since(const Resource& at, bool subtree, GrantId grant) const {
    if (at.last().grant() != grant || at.last().older_converted()) return true;
    for (const Resource* above = at.parent(); above != nullptr; above = above->parent()) {
        const lock_model::LastGrant last = above->last();
        if (number(last.grant()) > number(grant) || last.older_converted()) return true;
        // The time of that upgrade is not recorded; it may have been after `grant`.
        if (last.grant() != grant && last.itself_converted()) return true;
    }
    return subtree && numbers.token_taken_after(grant);
}

void LockTable::Core::handle(const ReacquireLocks& event) {
    Session* session = require_session(event.session);
    if (session == nullptr) return;
    if (session->principal != event.principal) {
        return refuse(ticket, {ErrorCode::not_owner,
                               "the grant belonged to another session; nothing was changed"});
    }
    std::vector<RequestedLock> requested_locks;
    milliseconds max_hold{0};
    for (const GrantedLock& lock : event.locks) {
        Resource& at =
            resource(lock.resource, event.locks.size() == 1 ? Slot::with : Slot::without);
        if (granted_since(at, lock.subtree, event.grant)) {
            return refuse(ticket, {ErrorCode::precondition_failed,
                                   "resource " + quoted(lock.resource) +
                                       " was granted to another session in the meantime: read its "
                                       "data again, then acquire it"});
        }
        RequestedLock requested{
            .resource = &at, .permits = lock.permits, .mode = lock.mode, .subtree = lock.subtree};
        for (std::size_t root = 0; root < event.locks.size(); ++root) {
            if (!lock.cause.empty() && event.locks[root].resource == lock.cause) {
                requested.cause = static_cast<std::uint8_t>(root);
            }
        }
        requested_locks.push_back(requested);
        max_hold = tighter(max_hold, classes.of(lock.resource).max_hold);
    }
    for (const RequestedLock& requested : requested_locks) {
        if (auto error = lease_too_long(*requested.resource, session->lease))
            return refuse(ticket, *std::move(error));
    }
    if (check_own_holds(ticket, *session, requested_locks, Held::refuse)) return;
    if (auto error = check_draining(requested_locks)) return refuse(ticket, *std::move(error));
    const Conflicts conflicts =
        find_conflicts(*session, requested_locks, arriving(), Collect::holds_and_waits);
    if (conflicts.blocked) {
        return refuse(ticket, conflict(ErrorCode::conflict, *session, conflicts));
    }
    if (const auto& full = usage.growth_refused()) return refuse(ticket, *full);
    const Metadata none;
    std::vector<LockRequest> names;
    for (const GrantedLock& lock : event.locks) names.push_back({.resource = lock.resource});
    if (auto error = usage.check_grant(session->uid, lock_model::bytes_of_grant(names, {}, none))) {
        return refuse(ticket, *std::move(error));
    }
    const lock_model::GrantRequest grant_request{session, {}, &none, max_hold, {}, false};
    answer_grant(ticket, make_grant(grant_request, requested_locks, conflicts.dead));
}

}  // namespace rocklock
