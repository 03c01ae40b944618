// The daemon: serves one store to the clients of its sockets.
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
    // Loopback addresses (HOST:PORT) to listen on, in addition to the socket.
    std::vector<std::string> http;
    // The directory of the store; empty: in memory.
    std::string store;
    Durability durability = Durability::durable;
    // Members of this group can use the socket and are administrators. Empty: no group.
    std::string admin_group;
    // The maximum number of connections. Further ones are refused. Some slots are reserved for
    // administrators.
    int max_connections = 20'000;
    // The limit for each user; 0: no limit. nullopt: three quarters of `max_connections`.
    std::optional<std::uint64_t> max_user_connections;
    // The bytes of incomplete requests and unread responses of each user; 0: no limit.
    std::uint64_t max_user_buffer_bytes = 0;
    // The time for an incomplete request and for an unread response; 0: no limit. 1 s is added for
    // each 16 KB (TransferLimits).
    std::chrono::milliseconds stall_timeout{60'000};
    UserLimits user_limits{};
    // If true, a store is served even if other users can enter its directory.
    bool allow_shared_store = false;
    // A wait for a lock is logged if it takes longer than this. 0: no wait is logged.
    std::chrono::milliseconds slow_wait{0};
    // The time from the start of one sweep, which deletes expired items, to the start of the next.
    std::chrono::milliseconds sweep_period{10'000};
    // The region in the ARNs of tables.
    std::string region = "local";
    // Fault injection for requests to tables.
    Rehearsal rehearsal;
    LogFormat log_format = LogFormat::text;
    LogLevel log_level = LogLevel::info;
    // The daemon exits after it has had neither sessions nor requests for this time. 0: never.
    std::chrono::milliseconds idle_exit{0};
    // The maximum time to wait for another daemon that has the store open to shut down.
    std::chrono::milliseconds patience{0};
    // The descriptor to which one line is written: "ready", or the reason why the start failed. -1:
    // none.
    int ready_fd = -1;
};

// Serves until SIGTERM or SIGINT is received, the idle limit is reached, or the storage fails. Logs
// to stderr.
//
// Errors: as Database::open; store_in_use if another daemon listens on the socket; io_error if the
//         socket file was removed or replaced; io_error, no_space or corrupt if the storage failed
Result<void> serve(const ServerOptions& options);

}  // namespace rocklock
