// A database behind a socket, served in this process: for the tests that run both ways.
#pragma once

#include <memory>
#include <string>

#include <rocklock/database.hpp>

namespace rocklock::testing {

// Serves `database`, one in memory on `clock`, until it goes. With `ticks` after each request what
// is due is done and answered, since nobody else does it. Closes the database in the end.
class ServedDatabase {
public:
    ServedDatabase(Database& database, Clock& clock, bool ticks);
    ServedDatabase(const ServedDatabase&) = delete;
    ServedDatabase& operator=(const ServedDatabase&) = delete;
    ~ServedDatabase();

    const std::string& path() const;
    // Ends all connections, as a daemon does that dies. Who comes afterwards is served.
    void drop_connections();

private:
    struct State;
    std::unique_ptr<State> state_;
};

// Whether this run of the tests is the one over a socket.
bool over_a_socket();

}  // namespace rocklock::testing
