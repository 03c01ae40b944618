// Makes the events for watchers, and the reports of waits that take long.
//
// Events are numbered from the same counter as the versions of records. Its reservation is durable
// before its numbers are used, so no number occurs twice, even after a restart.
#include <algorithm>
#include <array>
#include <utility>

#include "lock/table/core.hpp"

namespace rocklock {

namespace {

// The maximum number of `warned` events for one session.
constexpr std::size_t warned_limit = 1000;

constexpr std::array<std::string_view, 9> type_names{
    "granted",  "wanted",  "warned", "converted", "transferred",
    "released", "expired", "stolen", "broken",
};

EventType type_of(Outcome outcome) {
    switch (outcome) {
        case Outcome::expired:
            return EventType::expired;
        case Outcome::stolen:
            return EventType::stolen;
        case Outcome::broken:
            return EventType::broken;
        case Outcome::transferred:
            return EventType::transferred;
        case Outcome::converted:
        case Outcome::held:
        case Outcome::already_released:
        case Outcome::drained:
        case Outcome::resumed:
        case Outcome::released:
            break;
    }
    return EventType::released;
}

}  // namespace

std::string_view to_string(EventType type) { return type_names.at(static_cast<std::size_t>(type)); }

std::optional<EventType> parse_event_type(std::string_view text) {
    const auto* const found = std::find(type_names.begin(), type_names.end(), text);
    if (found == type_names.end()) return std::nullopt;
    return static_cast<EventType>(found - type_names.begin());
}

lock_model::EventFacts LockTable::Core::event_facts(EventType type, const Hold& hold, WallTime at) {
    const Grant& grant = *hold.grant();
    return {numbers.take_version(), grant.id(), grant.token(), at, hold.permits(), type, hold.mode};
}

void LockTable::Core::note(EventType type, const Hold& hold, WallTime at, std::string_view by,
                           std::string_view reason) {
    decision->events.add(event_facts(type, hold, at),
                         {hold.resource()->name(), hold.grant()->session->principal, by, reason});
}

void LockTable::Core::note_grant(const Grant& grant) {
    for (const Hold& hold : grant.holds()) note(EventType::granted, hold, now.wall);
}

// An upgrade gives all locks of the grant a new token, so each of them gets an event.
void LockTable::Core::note_conversion(const Grant& grant) {
    for (const Hold& hold : grant.holds()) note(EventType::converted, hold, now.wall);
}

void LockTable::Core::note_end(const Grant& grant, const Ending& ending) {
    for (const Hold& hold : grant.holds()) {
        note(type_of(ending.outcome), hold, ending.at, ending.by, ending.reason);
    }
}

void LockTable::Core::note_wanted(const Hold& hold, const Wanted& wanted) {
    auto facts = event_facts(EventType::wanted, hold, wanted.since);
    facts.mode = wanted.mode;
    decision->events.add(
        facts, {hold.resource()->name(), hold.grant()->session->principal, wanted.by, {}});
}

// ---- Leases that are about to expire ----

BootTime LockTable::Core::warning_time(const Session& session) const {
    if (!options.events || session.warned) return session.deadline;
    return session.deadline - session.lease / 3;
}

// Arms the timer in an order that is good for the cache. Time is divided into slices of about one
// millisecond. If several sessions are due in the same slice, their timers fire one slice earlier,
// in the order in which the sessions were opened. Their records and their memory are then accessed
// approximately in the order in which they were allocated. A timer that fires early is set to the
// exact time by sweep_sessions().
void LockTable::Core::arm_session(Session& session) {
    if (session.deadline == no_deadline) return;
    constexpr std::int64_t slice = 1 << 20;
    const std::int64_t due = warning_time(session).time_since_epoch().count();
    const auto offset = static_cast<std::int64_t>(session.order) % slice;
    timers.sessions.set(session.timer,
                        BootTime(std::chrono::nanoseconds((due / slice - 1) * slice + offset)));
}

std::size_t LockTable::Core::warn(Session& session) {
    session.warned = true;
    std::size_t warned = 0;
    for (const Grant* grant = session.first; grant != nullptr; grant = grant->next) {
        if (!lock_model::live(*grant, now.boot)) continue;
        for (const Hold& hold : grant->holds()) {
            note(EventType::warned, hold, now.wall);
            if (++warned == warned_limit) return warned;
        }
    }
    return warned;
}

// ---- Waits that take long ----

bool LockTable::Core::slow(const Wait& wait) const {
    return options.slow_wait > milliseconds{0} && !wait.slow_reported &&
           now.boot - wait.began >= options.slow_wait;
}

void LockTable::Core::note_slow(Wait& wait) {
    wait.slow_reported = true;
    const Conflicts conflicts = find_conflicts(wait, Collect::holds);
    SlowWait slow;
    slow.waiter = name_waiter(wait.locks.front());
    if (!conflicts.holds.empty()) {
        const auto at =
            std::find_if(wait.locks.begin(), wait.locks.end(), [&](const WaitLock& lock) {
                return lock.requested->resource == conflicts.holds.front()->resource();
            });
        if (at != wait.locks.end()) slow.waiter = name_waiter(*at);
    }
    slow.waited = std::chrono::duration_cast<milliseconds>(now.boot - wait.began);
    for (const Hold* hold : conflicts.holds) slow.holders.push_back(show_holder(*hold));
    decision->slow.push_back(std::move(slow));
}

}  // namespace rocklock
