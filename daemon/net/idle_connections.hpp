// The connections that have not sent a whole request yet, in order of arrival. When the connection
// limit is reached, the oldest of them is closed.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>

#include "base/mutex.hpp"

namespace rocklock {

class Connection;

// Threads: thread-safe. The cost of a call does not grow with the number of connections.
class IdleConnections {
public:
    using Time = std::chrono::steady_clock::time_point;

    // Adds a connection and returns its number, which is not 0.
    std::uint64_t add(std::weak_ptr<Connection> connection, Time now) ROCKLOCK_EXCLUDES(mutex_);
    // Removes a connection that has sent a request or is closed.
    void remove(std::uint64_t number) ROCKLOCK_EXCLUDES(mutex_);
    // Closes the oldest connection if it was added before `came_before`, unless it sends a request
    // in the meantime. Returns true if there was one.
    bool end_oldest(Time came_before) ROCKLOCK_EXCLUDES(mutex_);

private:
    struct Newcomer {
        std::weak_ptr<Connection> connection;
        Time since;
    };

    Mutex mutex_;
    std::map<std::uint64_t, Newcomer> all_ ROCKLOCK_GUARDED_BY(mutex_);
    std::uint64_t last_number_ ROCKLOCK_GUARDED_BY(mutex_) = 0;
};

}  // namespace rocklock
