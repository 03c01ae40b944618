// The daemon: one store, one Unix socket, any number of clients.
#pragma once

#include <chrono>
#include <string>

#include <rocklock/database.hpp>
#include <rocklock/result.hpp>

namespace rocklock {

struct ServerOptions {
    std::string socket_path;
    // The directory of the store; empty: in memory.
    std::string store;
    Durability durability = Durability::durable;
    // Leaves when there was neither a session nor a request for so long. 0: never.
    std::chrono::milliseconds idle_exit{0};
    // Another daemon that is just leaving is waited for, so long.
    std::chrono::milliseconds patience{0};
    // Gets one line when the server is ready, or the reason why it cannot be. -1: none.
    int ready_fd = -1;
};

// Serves until SIGTERM, SIGINT or idleness. Tells on stderr when it listens.
//
// Errors: as Database::open; store_in_use when another daemon listens on the socket.
Result<void> serve(const ServerOptions& options);

}  // namespace rocklock
