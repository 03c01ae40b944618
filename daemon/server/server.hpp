// The daemon: one store, its sockets, any number of clients.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <rocklock/database.hpp>
#include <rocklock/result.hpp>

#include "daemon/support/log.hpp"

namespace rocklock {

struct ServerOptions {
    std::string socket_path;
    // HOST:PORT of this machine, where to listen too.
    std::vector<std::string> http;
    // The directory of the store; empty: in memory.
    std::string store;
    Durability durability = Durability::durable;
    // Its members may reach the socket and administer. Empty: none.
    std::string admin_group;
    // More are refused. Some of them are for administrators.
    int max_connections = 20'000;
    // Of one user; 0: any number. None: three quarters of all.
    std::optional<std::uint64_t> max_user_connections;
    UserLimits user_limits{};
    // Serve a store although group or others can enter its directory.
    bool allow_shared_store = false;
    // A wait that lasts longer is told of. 0: none.
    std::chrono::milliseconds slow_wait{0};
    // Of expired items.
    std::chrono::milliseconds sweep_period{10'000};
    // Of the ARNs of tables.
    std::string region = "local";
    // Nuisances for who uses tables.
    Rehearsal rehearsal;
    LogFormat log_format = LogFormat::text;
    LogLevel log_level = LogLevel::info;
    // Leaves when there was neither a session nor a request for so long. 0: never.
    std::chrono::milliseconds idle_exit{0};
    // Another daemon that is just leaving is waited for, so long.
    std::chrono::milliseconds patience{0};
    // Gets one line when the server is ready, or the reason why it cannot be. -1: none.
    int ready_fd = -1;
};

// Serves until SIGTERM, SIGINT, idleness or a failure of the storage. Tells on stderr when it
// listens.
//
// Errors: as Database::open; store_in_use when another daemon listens on the socket; io_error,
//         no_space, corrupt when the storage has failed meanwhile.
Result<void> serve(const ServerOptions& options);

}  // namespace rocklock
