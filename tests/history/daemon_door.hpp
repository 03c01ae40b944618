// Access to tables through a daemon's socket, in DynamoDB's JSON, and a daemon that can be killed.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "history/table_door.hpp"

namespace rocklock::proof {

// Runs the program with a durable store in a directory. Errors: std::runtime_error.
//
// Threads: one; other threads may use doors at the same time.
class TableDaemon {
public:
    // Starts the daemon. Returns after the daemon accepts connections.
    explicit TableDaemon(const std::string& directory);
    TableDaemon(const TableDaemon&) = delete;
    TableDaemon& operator=(const TableDaemon&) = delete;
    ~TableDaemon();

    const std::string& socket() const { return socket_; }
    // Kills the daemon with SIGKILL, and starts a new one on the same store.
    void kill_and_start();

private:
    void start();
    void kill();

    std::string directory_;
    std::string socket_;
    pid_t process_ = 0;
};

// Sends one request, such as CreateTable. Throws std::runtime_error if it fails.
void call_daemon(const std::string& socket, const std::string& operation, const std::string& body);

std::unique_ptr<TableDoor> door_to(const std::string& socket, const HistoryKeys& keys);

}  // namespace rocklock::proof
