// What the connections of a server add up to.
#pragma once

#include <atomic>
#include <cstdint>

#include "daemon/api/user_connections.hpp"

namespace rocklock {

// Threads: thread-safe.
struct Traffic {
    explicit Traffic(std::uint64_t max_user_connections = 0) : users(max_user_connections) {}

    std::atomic<int> connections{0};
    // Requests that are not answered, or answers that are not sent.
    std::atomic<int> busy{0};
    // When a request came last, in milliseconds of the steady clock.
    std::atomic<std::int64_t> last_request{0};
    // Connections that were accepted, and those of them that were too many.
    std::atomic<std::uint64_t> accepted{0};
    std::atomic<std::uint64_t> refused{0};
    // Connections that made room, since they had asked nothing.
    std::atomic<std::uint64_t> dropped{0};
    UserConnections users;
};

}  // namespace rocklock
