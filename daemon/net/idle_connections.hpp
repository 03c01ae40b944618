// The connections on which no whole request has arrived yet, in order of their arrival. When the
// connection limit is reached, the oldest of these connections is closed if it is old enough.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>

#include "base/mutex.hpp"

namespace rocklock {

class Connection;

// Threads: thread-safe. The cost of a call is at most logarithmic in the number of connections.
class IdleConnections {
public:
    using Time = std::chrono::steady_clock::time_point;

    // Adds a connection and returns its number, which is not 0.
    std::uint64_t add(std::weak_ptr<Connection> connection, Time now) ROCKLOCK_EXCLUDES(mutex_);
    // Removes a connection that was closed, or whose client has sent a request.
    void remove(std::uint64_t number) ROCKLOCK_EXCLUDES(mutex_);
    // Removes the oldest connection if it was added before `added_before`, and returns true. The
    // connection's thread then closes the connection, unless a whole request arrives before that.
    // Returns false if there is no such connection.
    bool close_oldest(Time added_before) ROCKLOCK_EXCLUDES(mutex_);

private:
    struct Entry {
        std::weak_ptr<Connection> connection;
        Time since;
    };

    Mutex mutex_;
    std::map<std::uint64_t, Entry> all_ ROCKLOCK_GUARDED_BY(mutex_);
    std::uint64_t last_number_ ROCKLOCK_GUARDED_BY(mutex_) = 0;
};

}  // namespace rocklock
