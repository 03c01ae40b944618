// A database that is served over a socket by this process, for tests that run with and without a
// socket.
#pragma once

#include <memory>
#include <string>

#include <rocklock/database.hpp>

namespace rocklock::testing {

// Serves `database`, which is in memory and uses `clock`. If `ticks` is true, calls tick() after
// each request, because no thread of the database does. The destructor closes the database.
class ServedDatabase {
public:
    ServedDatabase(Database& database, Clock& clock, bool ticks);
    ServedDatabase(const ServedDatabase&) = delete;
    ServedDatabase& operator=(const ServedDatabase&) = delete;
    ~ServedDatabase();

    const std::string& path() const;
    // Closes all connections, as a crash of the daemon would. New connections are accepted.
    void drop_connections();

private:
    struct State;
    std::unique_ptr<State> state_;
};

// Returns whether this run of the tests uses a socket.
bool over_a_socket();

}  // namespace rocklock::testing
