// The queues of resources, and the choice of the waiters that are examined next.
//
// An event that may make a waiter grantable lists queues and waits in `serving` (ServeList).
// serve_queues() examines the listed ones until none is left. serve() walks a queue from its head
// and stops at the first waiter that blocks all later ones. Three kinds of waiters may be grantable
// although an earlier waiter is blocked, and are listed one by one: requests of the same session as
// the blocked waiter (recheck_own()), requests that a new grant of their session covers
// (recheck_covered()), and requests with due timers (serve_time()).
//
// A request for any one of several resources (Wait::alternatives) has an entry in the queue of each
// of them. It blocks the requests behind these entries as a set does, until one alternative can be
// granted; then it leaves all queues. The alternative that it gets may depend on the order in which
// several waiters are examined: if a release makes room in two queues, an earlier waiter may take
// the resource that a later one would prefer. While such a request waits, queues and waits are
// therefore examined strictly in the order of the queues, by serve_in_order().
#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <utility>

#include "base/mutant.hpp"
#include "lock/model/fence.hpp"
#include "lock/table/core.hpp"

namespace rocklock {

using lock_model::Conflicts;
using lock_model::Hold;
using lock_model::RequestedLock;
using lock_model::Resource;
using lock_model::Wait;
using lock_model::WaitLock;

namespace {

// Returns the mode that is requested of the held resource, or of a resource above or below it.
Mode wanted_mode(std::span<const RequestedLock> requested, const Hold& hold) {
    const std::string_view held = hold.resource()->name();
    for (const RequestedLock& lock : requested) {
        const std::string_view name = lock.resource->name();
        const bool meets = name == held || (lock.subtree && lies_below(held, name)) ||
                           (hold.subtree && lies_below(name, held));
        if (meets) return lock.mode;
    }
    return requested.front().mode;
}

// Returns whether the queue is served when the wait leaves it: always, except with a mutant.
bool wakes(const Wait& leaving) {
    if (leaving.session->ended) return !mutated(Mutant::unwoken_session_end);
    if (leaving.requested_locks.size() > 1) return !mutated(Mutant::unwoken_set_withdrawal);
    return !mutated(Mutant::unwoken_cancel);
}

// Returns whether `later` belongs to another session than its predecessor `before` in a queue.
bool follows(const WaitLock* later, const WaitLock* before) {
    return later != nullptr && before != nullptr && later->wait->session != before->wait->session;
}

}  // namespace

// ---- Queues ----

std::optional<Error> LockTable::Core::check_queues(
    const Session& session, std::span<const RequestedLock> requested_locks) const {
    const auto full = [](std::string message, std::uint64_t limit) {
        Error error(ErrorCode::queue_full, std::move(message));
        error.limit = limit;
        return error;
    };
    if (waits.size() >= options.waiters_total) {
        return full("too many requests already wait, counted over all resources: try again later",
                    options.waiters_total);
    }
    // Limits the size of the decision that ends the session: it completes all of these waits.
    if (session.waits.size() >= limits::waits_per_session) {
        return full(
            "too many requests of this session already wait: try again later, or open another "
            "session",
            limits::waits_per_session);
    }
    for (const RequestedLock& requested : requested_locks) {
        const std::uint32_t limit = classes.of(requested.resource->name()).queue_limit;
        if (requested.resource->extra() && requested.resource->extra()->waiters >= limit) {
            return full("too many requests wait for \"" + std::string(requested.resource->name()) +
                            "\": try again later",
                        limit);
        }
    }
    return std::nullopt;
}

void LockTable::Core::begin_wait(std::unique_ptr<Wait> made,
                                 std::span<const RequestedLock> requested_locks) {
    Wait& wait = *made;
    Session& session = *wait.session;
    const auto discard = [&](Error error) {
        refuse(ticket, std::move(error));
        if (session.unborn) free_session(session);
    };
    if (auto error = check_queues(session, requested_locks)) {
        ++counts.queue_full;
        return discard(*std::move(error));
    }
    if (auto error = usage.check_waiter(session.uid)) return discard(*std::move(error));
    const bool one_by_one = mutated(Mutant::set_one_by_one) && !wait.place.conversion &&
                            !wait.any() && requested_locks.size() > 1;
    if (one_by_one && requested_locks.back().root() &&
        !find_conflicts(session, requested_locks.last(1), arriving()).blocked) {
        make_grant({&session, {}, &wait.metadata, wait.hold_times.max, {}, false},
                   requested_locks.last(1), {});
        requested_locks = requested_locks.first(requested_locks.size() - 1);
    }
    wait.since = now.wall;
    wait.began = now.boot;
    wait.place.ranked_at = arriving(wait.priority).ranked_at;
    wait.requested_locks.assign(requested_locks.begin(), requested_locks.end());
    wait.timer.owner = &wait;
    usage.add_waiter(session.uid, lock_model::bytes_of_wait(wait));
    waits.add(std::move(made));
    session.waits.push_back(&wait);
    enqueue(wait);
    // No session waits for a new request that is at the end of its queues. A conversion passes the
    // queue, and a request with a priority may pass some waiters, so cycles through all waits of
    // the session are searched.
    const bool passes = wait.place.conversion || wait.priority > 0;
    auto cycle = find_cycle(session, nullptr, passes ? nullptr : &wait);
    if (!cycle.empty()) {
        refuse(ticket, deadlock(std::move(cycle)));
        return end_wait(wait);
    }
    ++counts.waits;
    for (const RequestedLock& requested : wait.requested_locks)
        contention.names.count(requested.resource->name());
    if (wait.request) requests.set(wait.request, RequestOutcome(wait));
    const Conflicts conflicts = find_conflicts(wait, Collect::holds);
    ROCKLOCK_ASSERT(conflicts.blocked);
    arm(wait, conflicts.recheck_at);
    notify_wanted(wait, conflicts);
}

void LockTable::Core::notify_wanted(const Wait& wait, const Conflicts& conflicts) {
    for (const Hold* hold : conflicts.holds) {
        const Wanted wanted{hold->grant()->id(), std::string(hold->resource()->name()),
                            wait.session->principal, wanted_mode(wait.requested_locks, *hold),
                            wait.since};
        if (options.events) note_wanted(*hold, wanted);
        notify_wanted(*hold->grant()->session, wanted);
    }
}

void LockTable::Core::enqueue(Wait& wait) {
    wait.locks.resize(wait.requested_locks.size());
    for (std::size_t i = 0; i < wait.locks.size(); ++i) {
        WaitLock& lock = wait.locks[i];
        lock.wait = &wait;
        lock.requested = &wait.requested_locks[i];
        auto& extra = lock.requested->resource->with_extra();
        // Insert at the end. A conversion is inserted after the last conversion, and a request with
        // a priority before those over which it has precedence.
        WaitLock* before = extra.last;
        while (before != nullptr && wait.before(*before->wait)) before = before->previous;
        WaitLock* after = before != nullptr ? before->next : extra.first;
        if (follows(after, before)) --before->wait->session->followed;
        if (follows(&lock, before)) ++before->wait->session->followed;
        if (follows(after, &lock)) ++wait.session->followed;
        lock.previous = before;
        lock.next = after;
        (before != nullptr ? before->next : extra.first) = &lock;
        (after != nullptr ? after->previous : extra.last) = &lock;
        ++extra.waiters;
        if (lock.requested->subtree) ++hold_marks.subtrees;
    }
}

void LockTable::Core::dequeue(Wait& wait) {
    for (WaitLock& lock : wait.locks) {
        ROCKLOCK_ASSERT(lock.wait == &wait && lock.requested->resource->extra());
        auto& extra = *lock.requested->resource->extra();
        ROCKLOCK_ASSERT(extra.waiters > 0);
        if (follows(&lock, lock.previous)) --lock.previous->wait->session->followed;
        if (follows(lock.next, &lock)) --wait.session->followed;
        if (follows(lock.next, lock.previous)) ++lock.previous->wait->session->followed;
        (lock.previous != nullptr ? lock.previous->next : extra.first) = lock.next;
        (lock.next != nullptr ? lock.next->previous : extra.last) = lock.previous;
        --extra.waiters;
        ROCKLOCK_ASSERT((extra.waiters == 0) == (extra.first == nullptr));
        ROCKLOCK_ASSERT(!lock.requested->subtree || hold_marks.subtrees > 0);
        if (lock.requested->subtree) --hold_marks.subtrees;
        serving.add_maybe_empty(*lock.requested->resource);
    }
    wait.locks.clear();
}

void LockTable::Core::end_wait(Wait& wait) {
    Session& session = *wait.session;
    // List the later waiters before the wait leaves its queues: `hold_marks.subtrees` must still
    // count its subtree locks.
    for (const RequestedLock& requested : wait.requested_locks) {
        if (wakes(wait)) changed(*requested.resource, requested.subtree);
    }
    dequeue(wait);
    timers.waits.remove(wait.timer);
    const auto own = std::lower_bound(
        session.waits.begin(), session.waits.end(), wait.place.order,
        [](const Wait* one, std::uint64_t order) { return one->place.order < order; });
    ROCKLOCK_ASSERT(own != session.waits.end() && *own == &wait);
    session.waits.erase(own);
    if (wait.request) requests.erase(wait.request, RequestOutcome(wait));
    usage.remove_waiter(session.uid, lock_model::bytes_of_wait(wait));
    waits.remove(wait);
    if (session.unborn) {
        free_session(session);
    } else {
        forget_session(session);
    }
}

void LockTable::Core::arm(Wait& wait, BootTime recheck_at) {
    BootTime at = std::min({wait.patience_ends, wait.session->deadline, recheck_at});
    if (options.slow_wait > milliseconds{0} && !wait.slow_reported) {
        at = std::min(at, lock_model::patience_end(wait.began, options.slow_wait));
    }
    if (at >= no_deadline) {
        timers.waits.remove(wait.timer);
    } else {
        timers.waits.set(wait.timer, at);
    }
}

// ---- Serving ----

bool LockTable::Core::reconsider(Wait& wait) {
    Session& session = *wait.session;
    if (!session.live(now.boot)) {
        refuse(wait.ticket,
               session_error(session.ended
                                 ? *session.ended
                                 : Ending{Outcome::expired, {}, {}, wall_of(session.deadline)}));
        end_wait(wait);
        return true;
    }
    if (wait.place.conversion &&
        (wait.grant_ended || !lock_model::live(*wait.converts, now.boot))) {
        Error error(ErrorCode::grant_ended, "the grant ended while its conversion waited");
        error.ended = wait.grant_ended ? *wait.grant_ended : ending_of(*wait.converts);
        refuse(wait.ticket, std::move(error));
        end_wait(wait);
        return true;
    }
    const bool own =
        wait.any() ? check_own_alternatives(wait.ticket, session, wait.requested_locks,
                                            wait.alternatives, wait.held)
                   : !wait.place.conversion &&
                         check_own_holds(wait.ticket, session, wait.requested_locks, wait.held);
    if (own) {
        end_wait(wait);
        return true;
    }
    if (auto error = check_draining(wait.requested_locks)) {
        refuse(wait.ticket, *std::move(error));
        end_wait(wait);
        return true;
    }
    Conflicts conflicts = find_conflicts(wait);
    if (!conflicts.blocked) {
        grant_waiting(wait, conflicts);
        return true;
    }
    if (slow(wait)) note_slow(wait);
    if (wait.patience_ends > now.boot) {
        arm(wait, conflicts.recheck_at);
    } else {
        serving.add_overdue(wait);
    }
    return false;
}

void LockTable::Core::lose_patience() {
    Wait* const found = waits.find(serving.take_overdue());
    if (found == nullptr) return;
    Wait& wait = *found;
    ROCKLOCK_ASSERT(wait.listed.overdue && wait.patience_ends <= now.boot);
    const Conflicts conflicts = find_conflicts(wait, Collect::holds_and_waits);
    ++counts.patience_expired;
    refuse(wait.ticket, conflict(ErrorCode::patience_expired, *wait.session, conflicts));
    end_wait(wait);
}

void LockTable::Core::grant_waiting(Wait& wait, const Conflicts& conflicts) {
    ROCKLOCK_ASSERT(!conflicts.blocked && wait.session->live(now.boot));
    const Ticket to = wait.ticket;
    counts.wait.add(now.boot - wait.began);
    if (wait.place.conversion) {
        ROCKLOCK_ASSERT(wait.converts != nullptr && wait.converts->session == wait.session);
        Grant& grant = *wait.converts;
        end_dead(conflicts.dead, *grant.session);
        const std::vector<Mode> modes = wait.modes_after;
        const lock_model::RequestKey id = wait.request;
        const std::uint64_t fingerprint = wait.fingerprint;
        end_wait(wait);
        apply_modes(grant, modes, id, fingerprint);
        return answer_convert(to, grant, true);
    }
    std::span<const RequestedLock> locks = wait.requested_locks;
    milliseconds max_hold = wait.hold_times.max;
    if (wait.any()) {
        const Alternative& chosen = wait.alternatives[conflicts.alternative];
        locks = wait.locks_of(chosen);
        max_hold = lock_model::tighter(chosen.max_hold, max_hold);
    }
    const lock_model::GrantRequest grant_request{.session = wait.session,
                                                 .note = wait.note,
                                                 .metadata = &wait.metadata,
                                                 .max_hold = max_hold,
                                                 .request = {wait.request, wait.fingerprint},
                                                 .waited = true,
                                                 .min_hold = wait.hold_times.min};
    const Grant& grant = make_grant(grant_request, locks, conflicts.dead);
    answer_grant(to, grant);
    end_wait(wait);
}

void LockTable::Core::changed(Resource& resource, bool subtree) {
    serving.add_queue(resource);
    if (hold_marks.subtrees == 0) return;
    for (Resource* above = resource.parent(); above != nullptr; above = above->parent())
        serving.add_queue(*above);
    if (!subtree) return;
    for_each_inside(resource, [&](const Resource& inside) {
        serving.add_queue(const_cast<Resource&>(inside));
    });
}

// Serves a queue from its head. A waiter that stays and requests more than `read` blocks all later
// waiters except those of its own session. The walk therefore ends there, and the cost of handing
// over one lock does not depend on the length of the queue.
void LockTable::Core::serve(Resource& resource) {
    WaitLock* lock = resource.queue();
    while (lock != nullptr) {
        WaitLock* next = lock->next;
        Wait& wait = *lock->wait;
        const bool strong = lock->requested->mode != Mode::read || lock->requested->permits > 0;
        const bool over = reconsider(wait);
        if (mutated(Mutant::wakes_one_reader) && over && serving.remove_queue(resource)) return;
        if (!over && strong) return recheck_own(wait, resource);
        lock = next;
    }
}

void LockTable::Core::serve_in_order() {
    // A wait to be examined. If it was reached in the queue of a resource, `lock` is its entry
    // there, at which that queue is continued.
    struct Candidate {
        ServeList::Recheck wait;
        WaitLock* lock = nullptr;
    };
    const auto later = [](const Candidate& a, const Candidate& b) {
        return b.wait.place.before(a.wait.place);
    };
    std::vector<Candidate> open;
    const auto add = [&](const ServeList::Recheck& wait, WaitLock* lock) {
        open.push_back({wait, lock});
        std::push_heap(open.begin(), open.end(), later);
    };
    const auto add_entry = [&](WaitLock* lock) {
        if (lock != nullptr) add({lock->wait->place, lock->wait->ticket}, lock);
    };
    for (;;) {
        while (serving.has_queue()) add_entry(serving.take_queue().queue());
        if (serving.has_waits()) {
            for (const ServeList::Recheck& next : serving.take_waits()) add(next, nullptr);
        }
        if (open.empty()) return;
        std::pop_heap(open.begin(), open.end(), later);
        const Candidate next = open.back();
        open.pop_back();
        Wait* const wait = waits.find(next.wait.ticket);
        if (wait == nullptr) continue;
        if (next.lock == nullptr) wait->listed.recheck = false;
        // If the request is completed, it lists its queues to be served again.
        if (reconsider(*wait) || next.lock == nullptr) continue;
        const RequestedLock& requested = *next.lock->requested;
        if (requested.mode != Mode::read || requested.permits > 0) {
            recheck_own(*wait, *requested.resource);
        } else {
            add_entry(next.lock->next);
        }
    }
}

// Calls `act` for the waits of a session in the queue of `at`. Walks the list of the session's
// waits or the queue, whichever is shorter, since both may be very long. If `related`, calls `act`
// for all waits of the session, because they may wait for resources below.
template <typename Do>
void LockTable::Core::for_own_waits(const Session& session, const Resource& at, bool related,
                                    Do act) {
    const auto wants = [&](const Wait& wait) {
        return std::any_of(
            wait.requested_locks.begin(), wait.requested_locks.end(),
            [&](const RequestedLock& requested) { return requested.resource == &at; });
    };
    const std::size_t queued = at.extra() ? at.extra()->waiters : 0;
    if (related || session.waits.size() <= queued) {
        for (Wait* wait : session.waits) {
            if (related || wants(*wait)) act(*wait);
        }
        return;
    }
    for (WaitLock* lock = at.queue(); lock != nullptr; lock = lock->next) {
        if (lock->wait->session == &session) act(*lock->wait);
    }
}

// A waiter that stays at the head of a queue does not block its own session, so the other waits of
// that session in the queue are examined as well. Waits for the same lock with the same priority
// are equivalent: if the head could not be granted, no other of them can, and of several only the
// first can be granted next.
void LockTable::Core::recheck_own(const Wait& head, const Resource& at) {
    std::vector<const Wait*> seen;
    const auto comes_first = [&](const Wait& wait) {
        if (wait.place.conversion || wait.requested_locks.size() > 1) return true;
        const RequestedLock& requested = wait.requested_locks.front();
        const bool again = std::any_of(seen.begin(), seen.end(), [&](const Wait* before) {
            const RequestedLock& other = before->requested_locks.front();
            return before->priority == wait.priority && other.resource == requested.resource &&
                   other.mode == requested.mode && other.permits == requested.permits &&
                   other.subtree == requested.subtree;
        });
        // A session rarely has more than eight kinds of waits. All waits of further kinds are
        // examined, even if that is unnecessary.
        if (!again && seen.size() < 8) seen.push_back(&wait);
        return !again;
    };
    if (head.session->waits.size() == 1) return;
    comes_first(head);
    for_own_waits(*head.session, at, false, [&](Wait& wait) {
        if (&wait != &head && comes_first(wait)) serving.add_wait(wait);
    });
}

// Locks that a session has been granted may let its other requests pass earlier waiters, or cause
// them to be refused because of `Held`.
void LockTable::Core::recheck_covered(const Grant& grant) {
    Session& session = *grant.session;
    if (session.waits.empty() || mutated(Mutant::unwoken_steal)) return;
    for (const Hold& hold : grant.holds()) {
        for_own_waits(session, *hold.resource(), hold.subtree,
                      [this](Wait& wait) { serving.add_wait(wait); });
    }
}

// ---- Time ----

void LockTable::Core::serve_time(std::size_t budget) {
    while (!timers.closures.empty() && timers.closures.top().at <= now.boot) {
        Timer& timer = timers.closures.top();
        timers.closures.remove(timer);
        auto& resource = *static_cast<Resource*>(timer.owner);
        changed(resource, false);
        serving.add_maybe_empty(resource);
    }
    std::array<Wait*, loaded_together> group{};
    std::size_t count = 0;
    for (; budget > 0 && !timers.waits.empty() && timers.waits.top().at <= now.boot; --budget) {
        Timer& timer = timers.waits.top();
        timers.waits.remove(timer);
        auto& wait = *static_cast<Wait*>(timer.owner);
        ROCKLOCK_ASSERT(&wait.timer == &timer);
        if (mutated(Mutant::unwoken_expiry) && wait.patience_ends > now.boot) continue;
        serving.add_wait(wait);
        group[count++] = &wait;
        if (count < group.size()) continue;
        load_together(group);
        count = 0;
    }
    time_out_notice_waits();
}

// Prefetches most of the objects that reconsider() will access for these waits: if many leases have
// ended, few of them are in the processor's cache.
void LockTable::Core::load_together(std::span<Wait* const> group) const {
    const auto load = [](const auto* object) {
        const char* const begin = reinterpret_cast<const char*>(object);
        for (std::size_t at = 0; at < sizeof *object; at += cache_line)
            __builtin_prefetch(begin + at);
    };
    for (const Wait* wait : group) load(wait);
    for (const Wait* wait : group) {
        __builtin_prefetch(wait->requested_locks.data());
        __builtin_prefetch(wait->locks.data());
    }
    for (const Wait* wait : group) load(wait->requested_locks.front().resource);
    const auto holder = [](const Wait* wait) -> const Session* {
        const Hold* const hold = wait->requested_locks.front().resource->newest_hold();
        return hold != nullptr ? hold->grant()->session.get() : nullptr;
    };
    for (const Wait* wait : group) {
        if (const Session* session = holder(wait)) load(session);
    }
    for (const Wait* wait : group) {
        // The lookup loads the entry of the session, which will be removed if it has expired.
        if (const Session* session = holder(wait)) __builtin_prefetch(sessions.find(session->id));
    }
}

}  // namespace rocklock
