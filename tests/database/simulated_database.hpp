// A database in memory on a clock that is set by hand, without threads of its own.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <rocklock/database.hpp>
#include <rocklock/testing/simulated_clock.hpp>

namespace rocklock::testing {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

inline LockRequest lock_of(std::string resource, std::optional<Mode> mode = {}) {
    LockRequest lock;
    lock.resource = std::move(resource);
    lock.mode = mode;
    return lock;
}

inline DatabaseOptions simulated(Clock& clock) {
    DatabaseOptions options;
    options.background = false;
    options.clock = &clock;
    return options;
}

// Lets time pass as a machine does: what becomes due on the way is done when it is due.
inline void pass(Database& database, SimulatedClock& clock, std::chrono::nanoseconds duration) {
    const BootTime end = clock.now().boot + duration;
    for (;;) {
        const auto next = database.tick();
        database.tick();
        const BootTime now = clock.now().boot;
        if (now >= end) return;
        BootTime until = end;
        if (next && *next < end) until = std::max(*next, now + 1ms);
        clock.advance(until - now);
    }
}

struct SimulatedDatabase {
    SimulatedClock clock;
    Database database = Database::in_memory(simulated(clock)).value();

    void pass(std::chrono::nanoseconds duration) { testing::pass(database, clock, duration); }

    // What the manager says of a session, which may know better than its owner.
    std::optional<milliseconds> manager_says(const SessionId& session) {
        const auto sessions = database.sessions().value();
        for (const SessionView& view : sessions) {
            if (view.id == session) return view.remaining;
        }
        return std::nullopt;
    }
    bool manager_holds(const SessionId& session, std::string_view resource,
                       Mode mode = Mode::write) {
        return database.service().holds(session, resource, mode);
    }
};

// What a session was told.
struct Told {
    std::vector<LostNotice> lost;
    std::vector<milliseconds> warnings;
    std::vector<Wanted> wanted;

    void listen(Session& session) {
        session.on_lost([this](const LostNotice& notice) { lost.push_back(notice); });
        session.on_warning([this](milliseconds left) { warnings.push_back(left); });
        session.on_wanted([this](const Wanted& news) { wanted.push_back(news); });
    }
};

// An error's code, or nothing when it went well.
template <typename T>
std::string failure_of(const Result<T>& result) {
    return result ? "" : std::string(to_string(result.error().code));
}

}  // namespace rocklock::testing
