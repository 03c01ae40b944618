// Executes Release, Convert, Transfer and Break, and ends grants.
#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "base/mutant.hpp"
#include "lock/table/core.hpp"

namespace rocklock {

using lock_model::RequestedLock;
using lock_model::Wait;
using records::Closure;

namespace {

// Returns whether queues are served after a grant has ended with this outcome: always, except with
// a mutant.
bool wakes(const lock_model::Session& session, Outcome outcome) {
    if (session.ended && mutated(Mutant::unwoken_session_end)) return false;
    if (outcome == Outcome::released) return !mutated(Mutant::unwoken_release);
    if (outcome == Outcome::expired) return !mutated(Mutant::unwoken_expiry);
    if (outcome == Outcome::stolen) return !mutated(Mutant::unwoken_steal);
    return true;
}

// For a mutant: ends the leases of all sessions that hold the resource in `read`.
void free_readers(const lock_model::Resource& resource, BootTime now) {
    for (const lock_model::Hold* hold = resource.newest_hold(); hold != nullptr;
         hold = hold->next()) {
        if (hold->mode == Mode::read) hold->grant()->session->deadline = now;
    }
}

}  // namespace

Error lock_model::ended_error(const Ending& ending) {
    Error error(ErrorCode::grant_ended,
                "the grant has ended: " + std::string(to_string(ending.outcome)));
    if (!ending.by.empty()) error.message += " by " + ending.by;
    if (!ending.reason.empty()) error.message += " (" + ending.reason + ")";
    error.message += "; acquire the lock again";
    error.ended = ending;
    return error;
}

std::optional<Error> lock_model::check_reason(std::string_view reason) {
    if (reason.empty()) return Error(ErrorCode::invalid_argument, "a forced change needs a reason");
    return check_texts(reason, {});
}

// Returns how a grant has ended that is no longer live but not cleaned up.
Ending LockTable::Core::ending_of(const Grant& grant) const {
    if (grant.session->ended) return *grant.session->ended;
    return {Outcome::expired, {}, {}, wall_of(std::min(grant.session->deadline, grant.cap()))};
}

lock_model::Grant* LockTable::Core::require_grant(const SessionId& session, GrantId id,
                                                  HistoryLookup::Verb verb) {
    Grant* const found = grants.find(id);
    if (found == nullptr) {
        decision->history.push_back({ticket, session, id, verb, 0});
        return nullptr;
    }
    Grant& grant = *found;
    const bool anybody =
        verb == HistoryLookup::Verb::release && mutated(Mutant::release_without_grant_test);
    if (grant.session->id != session && !anybody) {
        refuse(ticket,
               {ErrorCode::not_owner, "the grant belongs to another session; nothing was changed"});
        return nullptr;
    }
    if (lock_model::live(grant, now.boot)) {
        grant.confirmed = grant.confirmed || grant.session->id == session;
        return &grant;
    }
    const Ending ending = ending_of(grant);
    if (verb == HistoryLookup::Verb::release) {
        answer(ticket, released_before(ending));
    } else {
        refuse(ticket, lock_model::ended_error(ending));
    }
    return nullptr;
}

void LockTable::Core::handle(const Release& request) {
    Grant* grant = require_grant(request.session, request.grant, HistoryLookup::Verb::release);
    if (grant == nullptr) return;
    if (grant->count() > 0) {
        --grant->extra()->count;
        write_grant(*grant);
        return answer(ticket, Released{Outcome::held, grant->count()});
    }
    ROCKLOCK_ASSERT(grant->session->grants > 0);
    answer(ticket, Released{});
    end_grant(*grant, {Outcome::released, {}, {}, now.wall});
}

// ---- The end ----

namespace {

void count_ending(LockStatistics& counts, Outcome outcome) {
    switch (outcome) {
        case Outcome::released:
            ++counts.released;
            break;
        case Outcome::expired:
            ++counts.expired;
            break;
        case Outcome::stolen:
            ++counts.stolen;
            break;
        case Outcome::broken:
            ++counts.broken;
            break;
        case Outcome::transferred:
            ++counts.transferred;
            break;
        case Outcome::held:
        case Outcome::already_released:
        case Outcome::converted:
        case Outcome::drained:
        case Outcome::resumed:
            ROCKLOCK_ASSERT(false);
    }
}

}  // namespace

void LockTable::Core::end_grant(Grant& grant, const Ending& ending) {
    Session& session = *grant.session;
    if (!session.ended) note_shared_end(session);
    const std::vector<Closure> closures = close_resources(grant, ending.outcome);
    grant.set_version(numbers.take_version());
    write(Family::locks, records::grant_key(grant.id()),
          records::encode_grant(grant, boot_epoch, wall_of(grant.acquired()), &ending, closures));
    ++ended_records;
    counts.hold.add(now.boot - grant.acquired());
    const bool unsaid = mutated(Mutant::event_missing) && ending.outcome == Outcome::expired;
    if (options.events && !unsaid) note_end(grant, ending);
    if (ending.outcome == Outcome::stolen || ending.outcome == Outcome::broken ||
        ending.outcome == Outcome::transferred) {
        write_audit(grant, ending);
    }
    if (ending.outcome == Outcome::expired || ending.outcome == Outcome::stolen ||
        ending.outcome == Outcome::broken) {
        notify_lost(grant, ending);
    }
    count_ending(counts, ending.outcome);
    for (Hold& hold : grant.holds()) {
        if (wakes(session, ending.outcome)) changed(*hold.resource(), hold.subtree);
        unlink(hold);
        if (mutated(Mutant::reader_frees_readers) && ending.outcome == Outcome::expired) {
            free_readers(*hold.resource(), now.boot);
        }
    }
    for (Wait* wait : session.waits) {
        if (wait->converts != &grant) continue;
        wait->converts = nullptr;
        wait->grant_ended = ending;
        serving.add_wait(*wait);
    }
    if (grant.extra()) {
        timers.grants.remove(grant.extra()->timer);
        ROCKLOCK_ASSERT(grant.extra()->min_hold == milliseconds{0} ||
                        hold_marks.grants_with_min_hold > 0);
        if (grant.extra()->min_hold > milliseconds{0}) --hold_marks.grants_with_min_hold;
    }
    (grant.previous != nullptr ? grant.previous->next : session.first) = grant.next;
    (grant.next != nullptr ? grant.next->previous : session.last) = grant.previous;
    ROCKLOCK_ASSERT(session.grants > 0);
    --session.grants;
    ROCKLOCK_ASSERT((session.grants == 0) == (session.first == nullptr));
    if (usage.counts()) usage.remove_grant(session.uid, lock_model::bytes_of_grant(grant));
    grants.remove(grant);
    Grant::destroy(&grant);
    if (session.only_grant.set && session.first == nullptr && !session.ended)
        end_session(session, ending);
}

// Returns how long a name stays closed if this hold ends now or has expired: a minimum hold after a
// release, a lock delay after a loss. Returns nullopt if the name is not closed.
std::optional<Closure> LockTable::Core::closure_of(const Hold& hold, Outcome outcome) const {
    const Grant& grant = *hold.grant();
    const milliseconds own =
        grant.extra() && hold.root() ? grant.extra()->min_hold : milliseconds{0};
    if (classes.empty() && own == milliseconds{0}) return std::nullopt;
    const LockClass& lock_class = classes.of(hold.resource()->name());
    Closure closure{};
    if (outcome == Outcome::released) {
        closure.duration = std::max(lock_class.min_hold, own);
        closure.until = grant.acquired() + closure.duration;
    } else if (outcome == Outcome::expired || outcome == Outcome::broken) {
        closure.until =
            std::min({now.boot, grant.session->deadline, grant.cap()}) + lock_class.lock_delay;
        closure.duration = lock_class.lock_delay;
    }
    if (closure.duration == milliseconds{0} || closure.until <= now.boot) return std::nullopt;
    return closure;
}

// Closes the resources of a grant that ends, if their classes or its `min_hold` require that.
// Returns the closures.
std::vector<Closure> LockTable::Core::close_resources(const Grant& grant, Outcome outcome) {
    std::vector<Closure> closures;
    if (classes.empty() && hold_marks.grants_with_min_hold == 0) return closures;
    for (std::size_t i = 0; i < grant.hold_count; ++i) {
        auto found = closure_of(grant.holds()[i], outcome);
        if (!found) continue;
        Closure closure = *found;
        closure.lock = static_cast<std::uint32_t>(i);
        Resource& at = *grant.holds()[i].resource();
        auto& extra = at.with_extra();
        if (closure.until > extra.closed_until) {
            extra.closed_until = closure.until;
            timers.closures.set(extra.timer, closure.until);
        }
        closures.push_back(closure);
    }
    return closures;
}

void LockTable::Core::write_audit(const Grant& grant, const Ending& ending) {
    AuditRow row;
    row.sequence = numbers.take_version();
    row.at = ending.at;
    row.outcome = ending.outcome;
    row.by = ending.by;
    row.reason = ending.reason;
    row.resource = grant.holds().front().resource()->name();
    row.grant = grant.id();
    row.token = grant.token();
    row.principal = grant.session->principal;
    write(Family::history, records::audit_key(row.sequence), records::encode(row));
    ++counts.audit_rows;
}

// ---- Converting ----

// Returns the modes of all holds of the grant after the conversion, or an error if the request is
// invalid.
Result<std::vector<Mode>> LockTable::Core::modes_after(const Grant& grant,
                                                       const Convert& request) const {
    const auto invalid = [](std::string message) {
        return Error(ErrorCode::invalid_argument, std::move(message));
    };
    std::vector<Mode> modes;
    for (const Hold& hold : grant.holds()) {
        if (hold.permits() > 0) {
            return Error(ErrorCode::kind_mismatch, "permits have no mode and cannot be converted");
        }
        modes.push_back(hold.root() && request.mode ? *request.mode : hold.mode);
    }
    if (request.mode.has_value() != request.locks.empty()) {
        return invalid(
            "a conversion must give either one mode for all locks, or a mode for each of some "
            "locks");
    }
    for (const LockRequest& lock : request.locks) {
        if (!lock.mode || lock.to || lock.permits > 0 || !lock.modes.empty()) {
            return invalid("resource \"" + lock.resource +
                           "\": a conversion must give its mode, and no intent, permits or modes");
        }
        const auto holds = grant.holds();
        const auto at = std::find_if(holds.begin(), holds.end(), [&](const Hold& hold) {
            return hold.resource()->name() == lock.resource;
        });
        if (at == holds.end()) {
            return invalid("resource \"" + lock.resource + "\" is not part of the grant");
        }
        modes[static_cast<std::size_t>(at - holds.begin())] = *lock.mode;
    }
    return modes;
}

std::vector<RequestedLock> LockTable::Core::requested_upgrades(const Grant& grant,
                                                               std::span<const Mode> modes) const {
    ROCKLOCK_ASSERT(modes.size() == grant.hold_count);
    std::vector<RequestedLock> requested_locks;
    for (std::size_t i = 0; i < modes.size(); ++i) {
        const Hold& hold = grant.holds()[i];
        if (modes[i] <= hold.mode) continue;
        requested_locks.push_back({.resource = hold.resource(),
                                   .cause = hold.cause(),
                                   .mode = modes[i],
                                   .subtree = hold.subtree});
    }
    return requested_locks;
}

void LockTable::Core::handle(const Convert& request) {
    Session* session = require_session(request.session);
    if (session == nullptr) return;
    session->active = now.boot;
    if (request.patience < milliseconds{0} ||
        request.request_id.size() > limits::request_id_bytes) {
        return refuse(ticket, {ErrorCode::invalid_argument,
                               "patience is negative, or the request id is longer than 256 bytes"});
    }
    Grant* grant = require_grant(request.session, request.grant, HistoryLookup::Verb::other);
    if (grant == nullptr) return;
    const auto modes = modes_after(*grant, request);
    if (!modes) return refuse(ticket, modes.error());
    const lock_model::RequestKey id = request_key(&session->id, nullptr, request.request_id);
    std::uint64_t fingerprint = fnv1a(std::to_string(number(request.grant)));
    for (const Mode mode : *modes) fingerprint = fnv1a(to_string(mode), fingerprint);
    if (id && grant->extra() && grant->extra()->convert_request == id) {
        if (grant->extra()->convert_fingerprint != fingerprint) {
            return refuse(ticket,
                          {ErrorCode::parameter_mismatch,
                           "this request id was used for another conversion: use a new one"});
        }
        ++counts.replays;
        answer_grant(ticket, *grant);
        return;
    }
    // The waiting conversion has determined which locks it upgrades. If this request downgraded
    // another lock of the grant, the waiting one would later set that lock back to its old mode,
    // which may conflict with locks that have been granted in the meantime.
    for (const Wait* wait : session->waits) {
        if (wait->converts == grant) {
            return refuse(
                ticket, {ErrorCode::invalid_argument,
                         "another conversion of this grant already waits: cancel that one first"});
        }
    }
    const std::vector<RequestedLock> requested_locks = requested_upgrades(*grant, *modes);
    if (auto error = check_draining(requested_locks)) return refuse(ticket, *std::move(error));
    const QueuePlace place{true, now.boot};
    Conflicts conflicts = find_conflicts(*session, requested_locks, place);
    if (!conflicts.blocked) {
        auto cycle = cycle_when_raised(*grant, *modes);
        if (!cycle.empty()) return refuse(ticket, deadlock(std::move(cycle)));
        end_dead(conflicts.dead, *session);
        apply_modes(*grant, *modes, id, fingerprint);
        return answer_convert(ticket, *grant, false);
    }
    if (request.patience == milliseconds{0}) {
        conflicts = find_conflicts(*session, requested_locks, place, Collect::holds_and_waits);
        return refuse(ticket, conflict(ErrorCode::conflict, *session, conflicts));
    }
    auto wait = std::make_unique<Wait>();
    wait->ticket = ticket;
    wait->session = session;
    wait->place.conversion = true;
    wait->converts = grant;
    wait->modes_after = *modes;
    wait->request = id;
    wait->fingerprint = fingerprint;
    wait->patience_ends = lock_model::patience_end(now.boot, request.patience);
    begin_wait(std::move(wait), requested_locks);
}

// `waited` in the response refers to the conversion, not to the acquire.
void LockTable::Core::answer_convert(Ticket to, const Grant& grant, bool waited) {
    answer_grant(to, grant).waited = waited;
}

// Returns the cycle that would exist after the conversion. A conversion passes the queue, so it may
// block a waiter for which its own session waits.
std::vector<CycleStep> LockTable::Core::cycle_when_raised(Grant& grant,
                                                          std::span<const Mode> modes) {
    if (grant.session->waits.empty()) return {};
    std::vector<Mode> before;
    for (std::size_t i = 0; i < modes.size(); ++i) {
        before.push_back(grant.holds()[i].mode);
        grant.holds()[i].mode = modes[i];
    }
    auto cycle = find_cycle(*grant.session);
    for (std::size_t i = 0; i < modes.size(); ++i) grant.holds()[i].mode = before[i];
    return cycle;
}

// A downgrade keeps the token and may let waiters be granted. An upgrade takes a new token.
void LockTable::Core::apply_modes(Grant& grant, std::span<const Mode> modes,
                                  const lock_model::RequestKey& convert_request,
                                  std::uint64_t fingerprint) {
    ROCKLOCK_ASSERT(modes.size() == grant.hold_count);
    bool up = false;
    for (std::size_t i = 0; i < modes.size(); ++i) {
        Hold& hold = grant.holds()[i];
        if (modes[i] == hold.mode) continue;
        Resource& at = *hold.resource();
        if (modes[i] > hold.mode) {
            up = true;
        } else if (!mutated(Mutant::unwoken_downgrade)) {
            changed(at, hold.subtree);
        }
        ROCKLOCK_ASSERT(hold.permits() == 0 && (hold.mode == Mode::read || at.strong() > 0));
        if (hold.mode == Mode::exclusive) hold_marks.exclusive.end(at.name(), hold.subtree);
        at.set_mode(hold, modes[i]);
        if (hold.mode == Mode::exclusive) hold_marks.exclusive.begin(at.name(), hold.subtree);
    }
    if (up) {
        // All locks of the grant share the new token, including those in an unchanged mode.
        for (Hold& hold : grant.holds()) {
            lock_model::LastGrant last = hold.resource()->last();
            last.note_conversion_of(grant.id());
            hold.resource()->set_last(last);
        }
        grant.with_extra().token = numbers.take_token();
        recheck_covered(grant);
    }
    if (convert_request) {
        auto& extra = grant.with_extra();
        extra.convert_request = convert_request;
        extra.convert_fingerprint = fingerprint;
    }
    ++counts.conversions;
    extend(*grant.session);
    grant.session->active = now.boot;
    write_grant(grant);
    if (grant.hold_count > 1) {
        write(Family::locks, records::set_key(grant.id()), records::encode_set(grant));
    }
    if (options.events) note_conversion(grant);
    // A crash may lose a downgrade. But the record also contains the session's new deadline, which
    // must be written.
    need(up ? Durability::durable : Durability::written);
}

// ---- Transfer and break ----

// Ends the grant and gives its locks to another session in the same modes, ahead of the waiters.
// The new grant has a new id and token.
lock_model::Grant& LockTable::Core::take_over(Grant& victim, Session& thief, const Ending& ending) {
    ROCKLOCK_ASSERT(victim.session != &thief);
    std::vector<RequestedLock> requested_locks;
    for (const Hold& hold : victim.holds()) {
        requested_locks.push_back({.resource = hold.resource(),
                                   .permits = hold.permits(),
                                   .cause = hold.cause(),
                                   .mode = hold.mode,
                                   .subtree = hold.subtree});
    }
    milliseconds max_hold{0};
    for (const RequestedLock& requested : requested_locks)
        max_hold = lock_model::tighter(max_hold, classes.of(requested.resource->name()).max_hold);
    end_grant(victim, ending);
    const Metadata none;
    const lock_model::GrantRequest grant_request{&thief, {}, &none, max_hold, {}, false};
    return make_grant(grant_request, requested_locks, {});
}

// Returns an error if the grant belongs to another user and would exceed the limits of the
// receiver's user.
std::optional<Error> LockTable::Core::check_receiver(const Grant& moved,
                                                     const Session& receiver) const {
    if (moved.session->uid == receiver.uid) return std::nullopt;
    return usage.check_grant(receiver.uid, lock_model::bytes_of_grant(moved));
}

// Returns an error if locks of `moved` would conflict with other grants after it belongs to
// `owner`: other grants of its current session do not conflict with it now, but they would then.
std::optional<Error> LockTable::Core::conflict_after_move(const Grant& moved,
                                                          const Session& owner) const {
    Conflicts left;
    for (const Hold& hold : moved.holds()) {
        // The number of permits in use does not change.
        if (hold.permits() > 0) continue;
        const RequestedLock requested{
            .resource = hold.resource(), .mode = hold.mode, .subtree = hold.subtree};
        Conflicts found;
        found.collect = Collect::holds_and_waits;
        add_holds(owner, requested, found);
        for (const Hold* other : found.holds) {
            if (other->grant() != &moved) left.holds.push_back(other);
        }
    }
    if (left.holds.empty()) return std::nullopt;
    return conflict(ErrorCode::conflict, owner, left);
}

void LockTable::Core::handle(const Transfer& request) {
    if (require_session(request.session) == nullptr) return;
    Grant* grant = require_grant(request.session, request.grant, HistoryLookup::Verb::other);
    if (grant == nullptr) return;
    Session* const target = sessions.find(request.to);
    if (target == nullptr || target->unborn || !target->live(now.boot)) {
        return refuse(
            ticket,
            {ErrorCode::session_not_found,
             "the session to transfer to does not exist or has ended; nothing was changed"});
    }
    Session& receiver = *target;
    if (&receiver == grant->session) {
        answer_grant(ticket, *grant);
        return;
    }
    if (auto error = lease_too_long(*grant, receiver.lease))
        return refuse(ticket, *std::move(error));
    if (auto error = check_receiver(*grant, receiver)) return refuse(ticket, *std::move(error));
    if (auto error = conflict_after_move(*grant, receiver))
        return refuse(ticket, *std::move(error));
    auto cycle = find_cycle(receiver, grant);
    if (!receiver.waits.empty() && !cycle.empty())
        return refuse(ticket, deadlock(std::move(cycle)));
    const Ending ending{Outcome::transferred, grant->session->principal, "to " + receiver.principal,
                        now.wall};
    const BootTime deadline = receiver.deadline;
    const BootTime active = receiver.active;
    const BootTime cap = grant->cap();
    const milliseconds max_hold =
        cap < BootTime::max() ? grant->extra()->max_hold : milliseconds{0};
    const milliseconds min_hold = grant->extra() ? grant->extra()->min_hold : milliseconds{0};
    Grant& given = take_over(*grant, receiver, ending);
    // Receiving a grant does not renew the session and does not count as its activity.
    receiver.deadline = deadline;
    receiver.active = active;
    // The new grant keeps the cap of the old one. Otherwise sessions could hold a lock forever by
    // transferring it to each other.
    if (cap < given.cap()) remember_cap(given, max_hold, cap);
    // The time begins at the transfer, as for the `min_hold` of the class.
    remember_min_hold(given, min_hold);
    write_grant(given);
    answer(ticket, view(given));
}

void LockTable::Core::handle(const Break& request) {
    if (auto error = lock_model::check_reason(request.reason))
        return refuse(ticket, *std::move(error));
    if (auto error = check_name("the name of the administrator", request.by))
        return refuse(ticket, *std::move(error));
    Grant* found = grants.find(request.grant);
    if (mutated(Mutant::force_by_name) && found == nullptr) {
        grants.all_of([&](Grant& later) {
            if (later.holds().front().before() == request.grant) found = &later;
            return found == nullptr;
        });
    }
    if (found == nullptr) {
        decision->history.push_back(
            {ticket, SessionId{}, request.grant, HistoryLookup::Verb::force, 0});
        return;
    }
    Grant& grant = *found;
    if (!lock_model::live(grant, now.boot))
        return refuse(ticket, lock_model::ended_error(ending_of(grant)));
    if (auto error = check_right(grant, request.identities, "broken"))
        return refuse(ticket, *std::move(error));
    end_grant(grant, {Outcome::broken, request.by, request.reason, now.wall});
    need(Durability::durable);
    answer(ticket, Released{Outcome::broken, 0});
}

}  // namespace rocklock
