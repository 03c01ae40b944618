// Cleans up sessions and grants whose time limits have passed, in steps, and searches for waiters
// that were overlooked.
#include <algorithm>
#include <array>
#include <span>

#include "base/assert.hpp"
#include "lock/table/core.hpp"

namespace rocklock {

namespace {

// The number of waits that one step of the search examines. Other events are processed between the
// steps.
constexpr std::size_t searched_a_step = 512;
// The timer of a session fires early by less than this; see arm_session().
constexpr std::chrono::milliseconds max_lead{4};
// A sweep sets at most this number of timers that have fired early to their exact times. The others
// keep their order, and the sweep examines them again after `early_pause`.
constexpr std::size_t max_early = 64;
constexpr std::chrono::microseconds early_pause{250};

}  // namespace

void LockTable::Core::sweep(std::size_t budget) {
    std::size_t left = budget;
    while (left > 0 && sessions.has_ending())
        left -= std::min(left, clean(sessions.last_ending(), left));
    while (left > 0 && !timers.grants.empty() && timers.next_grant() <= now.boot) {
        auto& grant = *static_cast<Grant*>(timers.grants.top().owner);
        ROCKLOCK_ASSERT(&grant.extra()->timer == &timers.grants.top());
        end_grant(grant, ending_of(grant));
        need(Durability::durable);
        --left;
    }
    sweep_sessions(left);
}

// If many sessions are due, few of the objects to free are in the processor's cache. Those of a
// group of sessions are therefore loaded together.
void LockTable::Core::sweep_sessions(std::size_t budget) {
    std::array<Session*, loaded_together> space{};
    std::size_t early = 0;
    while (budget > 0) {
        std::size_t count = 0;
        while (count < std::min(budget, space.size()) && !timers.sessions.empty() &&
               timers.next_session() <= now.boot) {
            Timer& timer = timers.sessions.top();
            space[count++] = static_cast<Session*>(timer.owner);
            timers.sessions.remove(timer);
        }
        if (count == 0) return;
        const auto group = std::span(space).first(count);
        if (count > 1) load_together(group);
        for (Session* session : group) {
            ROCKLOCK_ASSERT(!session->ended && !session->timer.armed());
            if (budget == 0) {
                timers.sessions.set(session->timer, session->timer.at);
            } else {
                budget -= std::min(budget, sweep_session(*session, early));
            }
        }
    }
}

// Ends the session, or creates the warnings before its end, or sets its timer to a later time.
// Returns what is subtracted from the budget. The timer must not be armed.
std::size_t LockTable::Core::sweep_session(Session& session, std::size_t& early) {
    if (session.deadline <= now.boot) {
        ++counts.sessions_expired;
        need(Durability::durable);
        const std::size_t used = session.grants + 1;
        end_session(session, {Outcome::expired, {}, {}, wall_of(session.deadline)});
        return used;
    }
    std::size_t used = 1;
    if (warning_time(session) <= now.boot) used += warn(session);
    const BootTime due = warning_time(session);
    if (due - now.boot > max_lead) {
        arm_session(session);
    } else if (++early <= max_early) {
        timers.sessions.set(session.timer, due);
    } else {
        timers.sessions.set(session.timer, session.timer.at);
        timers.sessions_from = now.boot + early_pause;
    }
    return used;
}

// Prefetches the objects that end_session() will read for these sessions.
void LockTable::Core::load_together(std::span<Session* const> group) const {
    for (const Session* session : group) {
        const char* const begin = reinterpret_cast<const char*>(session);
        for (std::size_t at = 0; at < sizeof(Session); at += cache_line)
            __builtin_prefetch(begin + at);
    }
    // The timers of sessions that were renewed fire too. These sessions do not end.
    const auto ends = [&](const Session* session) {
        return session->deadline <= now.boot && session->first != nullptr;
    };
    for (const Session* session : group) {
        if (!ends(session)) continue;
        // The lookup loads the entry of the session into the cache.
        const Session* const found = sessions.find(session->id);
        ROCKLOCK_ASSERT(found == session);
        __builtin_prefetch(session->first.get());
    }
}

void LockTable::Core::search() {
    serve_queues();
    // Do not search while ended grants have not been cleaned up or timers are due. A waiter that
    // can be granted because of them is not a find: it will be served when they are handled.
    if (sessions.has_ending()) return;
    if (!timers.waits.empty() && timers.waits.top().at <= now.boot) return;
    Wait* wait = waits.search_from();
    for (std::size_t left = searched_a_step; left > 0 && wait != nullptr; --left) {
        if (!find_conflicts(*wait).blocked) {
            ++counts.sweep_finds;
            serving.add_wait(*wait);
        }
        wait = wait->younger;
    }
    waits.continue_search_at(wait);
}

}  // namespace rocklock
