// A database in memory with a simulated clock and without threads. If the tests run over a socket,
// a connection to such a database.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <rocklock/database.hpp>
#include <rocklock/testing/simulated_clock.hpp>

#ifdef ROCKLOCK_TEST_SERVED
#include "database/served_database.hpp"
#endif
#include "support/stores/test_store.hpp"

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

// Advances the clock in steps, so that each action runs when it is due.
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

// Opens a database on an empty store (support/stores/test_store.hpp).
inline Result<Database> open_test_database(const DatabaseOptions& options = {}) {
    if (!stores_are_on_etcd()) return Database::in_memory(options);
    Clock& clock = options.clock != nullptr ? *options.clock : system_clock();
    return Database::open_on(make_test_store(clock), options);
}

#ifdef ROCKLOCK_TEST_SERVED

// If the tests run over a socket, contains a database in this process and a server for it.
class Hosted {
public:
    Hosted() = default;
    Hosted(Clock& clock, const DatabaseOptions& options) {
        if (!over_a_socket()) return;
        database_.emplace(open_test_database(options).value());
        server_.emplace(*database_, clock, !options.background);
    }

    Database connect_or_open(const DatabaseOptions& options) {
        if (!database_) return open_test_database(options).value();
        return connect(options.background, options.clock);
    }
    // Returns the database itself or, if the tests run over a socket, a connection to it.
    Database connect_to(Database database, Clock& clock, bool background) {
        if (!over_a_socket()) return database;
        database_.emplace(std::move(database));
        server_.emplace(*database_, clock, !background);
        return connect(background, &clock);
    }

    // Returns the database that decides the requests.
    Database& manager(Database& own) { return database_ ? *database_ : own; }
    // Runs all due work, and returns after all notifications have been delivered.
    void deliver_all(Database& own) {
        if (!database_) return;
        database_->tick();
        // Notifications precede responses. Therefore, all earlier notifications have arrived when
        // the second response arrives.
        std::ignore = own.classes();
        std::ignore = own.classes();
    }

private:
    Database connect(bool background, Clock* clock) const {
        ConnectOptions how;
        how.background = background;
        how.clock = clock;
        return Database::connect(server_->path(), how).value();
    }

    std::optional<Database> database_;
    std::optional<ServedDatabase> server_;
};

#else

class Hosted {
public:
    Hosted() = default;
    Hosted(Clock& /*clock*/, const DatabaseOptions& /*options*/) {}
    static Database connect_to(Database database, Clock& /*clock*/, bool /*background*/) {
        return database;
    }
    static Database connect_or_open(const DatabaseOptions& options) {
        return open_test_database(options).value();
    }
    static Database& manager(Database& own) { return own; }
    static void deliver_all(Database& /*own*/) {}
};
inline bool over_a_socket() { return false; }

#endif

struct SimulatedDatabase {
    SimulatedClock clock;
    Hosted host;
    Database database;

    explicit SimulatedDatabase(DatabaseOptions (*options)(Clock&) = simulated)
        : host(clock, options(clock)), database(host.connect_or_open(options(clock))) {}

    void pass(std::chrono::nanoseconds duration) {
        if (!over_a_socket()) return testing::pass(database, clock, duration);
        const BootTime end = clock.now().boot + duration;
        for (;;) {
            const auto due = host.manager(database).tick();
            const auto next = database.tick();
            host.deliver_all(database);
            const BootTime now = clock.now().boot;
            if (now >= end) return;
            BootTime until = end;
            if (due && *due < until) until = std::max(*due, now + 1ms);
            if (next && *next < until) until = std::max(*next, now + 1ms);
            clock.advance(until - now);
        }
    }

    // Returns the remaining lease in the manager, which can differ from that in the owner's
    // session.
    std::optional<milliseconds> manager_says(const SessionId& session) {
        const auto sessions = host.manager(database).sessions().value();
        for (const SessionView& view : sessions) {
            if (view.id == session) return view.remaining;
        }
        return std::nullopt;
    }
    bool manager_holds(const SessionId& session, std::string_view resource,
                       Mode mode = Mode::write) {
        return host.manager(database).service().holds(session, resource, mode);
    }
};

// The notifications that a session received.
struct Notices {
    std::vector<LostNotice> lost;
    std::vector<milliseconds> warnings;
    std::vector<Wanted> wanted;

    void listen(Session& session) {
        session.on_lost([this](const LostNotice& notice) { lost.push_back(notice); });
        session.on_warning([this](milliseconds left) { warnings.push_back(left); });
        session.on_wanted([this](const Wanted& news) { wanted.push_back(news); });
    }
};

// Returns the error code, or an empty string.
template <typename T>
std::string failure_of(const Result<T>& result) {
    return result ? "" : std::string(to_string(result.error().code));
}

}  // namespace rocklock::testing
