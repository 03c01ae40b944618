// The connections that have not sent a whole request yet, in the order in which they came: who has
// kept a place for long and asked nothing makes room when there is none left.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>

#include "base/mutex.hpp"

namespace rocklock {

class Connection;

// Threads: thread-safe. However many there are, what is done with one of them takes no longer.
class IdleConnections {
public:
    using Time = std::chrono::steady_clock::time_point;

    // Returns its number, which is not 0.
    std::uint64_t add(std::weak_ptr<Connection> connection, Time now) ROCKLOCK_EXCLUDES(mutex_);
    // It has asked for something, or is gone.
    void remove(std::uint64_t number) ROCKLOCK_EXCLUDES(mutex_);
    // Ends the one that has been here longest, soon, if it came before then. Returns whether.
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
