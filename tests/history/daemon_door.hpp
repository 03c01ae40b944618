// Tables behind a daemon's socket, in DynamoDB's JSON; and the daemon, which may be killed.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "history/table_door.hpp"

namespace rocklock::proof {

// The program, on a directory, durable. Errors: std::runtime_error.
//
// Threads: one; doors may be used meanwhile.
class TableDaemon {
public:
    // Starts it, and returns when it takes connections.
    explicit TableDaemon(const std::string& directory);
    TableDaemon(const TableDaemon&) = delete;
    TableDaemon& operator=(const TableDaemon&) = delete;
    ~TableDaemon();

    const std::string& socket() const { return socket_; }
    // kill -9, and a new one on what that leaves.
    void kill_and_start();

private:
    void start();
    void kill();

    std::string directory_;
    std::string socket_;
    pid_t process_ = 0;
};

// Asks once, and wants success: CreateTable.
void call_daemon(const std::string& socket, const std::string& operation, const std::string& body);

std::unique_ptr<TableDoor> door_to(const std::string& socket, const HistoryKeys& keys);

}  // namespace rocklock::proof
