// The counters of all connections of a server.
#pragma once

#include <atomic>
#include <cstdint>

#include "daemon/api/node_connections.hpp"
#include "daemon/api/user_buffers.hpp"
#include "daemon/api/user_connections.hpp"

namespace rocklock {

// The number of connections that can continue in shared memory. Each of them needs
// `descriptors_per_connection` more descriptors of the process. Threads: thread-safe.
class SharedConnections {
public:
    static constexpr int descriptors_per_connection = 3;

    // Must be called before the first connection. The default is 0.
    void set_maximum(int maximum) { maximum_ = maximum; }
    int count() const { return count_; }
    // Counts one more connection. Returns false if the maximum is reached.
    bool try_add() {
        if (++count_ <= maximum_) return true;
        --count_;
        return false;
    }
    void remove() { --count_; }

private:
    int maximum_ = 0;
    std::atomic<int> count_{0};
};

// Threads: thread-safe.
struct Traffic {
    explicit Traffic(std::uint64_t max_user_connections = 0,
                     std::uint64_t max_user_buffer_bytes = 0)
        : users(max_user_connections), buffers(max_user_buffer_bytes) {}

    std::atomic<int> connections{0};
    // The number of connections that have unanswered requests or unsent responses.
    std::atomic<int> busy{0};
    // The time of the last input, in milliseconds of the steady clock.
    std::atomic<std::int64_t> last_request{0};
    // The number of accepted connections. It includes refused connections, except those that were
    // refused because no descriptor was free.
    std::atomic<std::uint64_t> accepted{0};
    // The number of connections that were refused because of a limit.
    std::atomic<std::uint64_t> refused{0};
    // The number of connections that had not sent a request and were closed to make room for other
    // connections.
    std::atomic<std::uint64_t> dropped{0};
    SharedConnections shared;
    UserConnections users;
    NodeConnections nodes;
    UserBuffers buffers;
};

}  // namespace rocklock
