// Accesses tables through the socket of a daemon, in DynamoDB's JSON. Also contains a daemon that
// can be killed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "history/table_access.hpp"

namespace rocklock::proof {

// Runs the program: a manager with a durable store in a directory, or a relay, which has no store.
// Errors: std::runtime_error.
//
// Threads: one at a time. Other threads may use other instances at the same time.
class TableDaemon {
public:
    // Starts the daemon with further options of `rocklock serve`, and returns when it accepts
    // connections.
    enum class Kind { manager, relay };
    explicit TableDaemon(const std::string& directory, std::vector<std::string> options = {},
                         Kind kind = Kind::manager);
    TableDaemon(const TableDaemon&) = delete;
    TableDaemon& operator=(const TableDaemon&) = delete;
    ~TableDaemon();

    const std::string& socket() const { return socket_; }
    // The port of a daemon with the option `--http 127.0.0.1:0`.
    std::uint16_t port() const;
    // Kills the daemon with SIGKILL, and starts a new one on the same store.
    void kill_and_start();

private:
    void start();
    void kill();

    std::string directory_;
    std::string socket_;
    std::vector<std::string> options_;
    Kind kind_;
    pid_t process_ = 0;
};

// Sends one request, such as CreateTable. Throws std::runtime_error if it fails.
void call_daemon(const std::string& socket, const std::string& operation, const std::string& body);

std::unique_ptr<TableAccess> table_access_to(const std::string& socket, const HistoryKeys& keys);

}  // namespace rocklock::proof
