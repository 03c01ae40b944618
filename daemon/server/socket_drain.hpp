// Reads what lies in the sockets of a server that was stalled, before anything is decided by it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include "base/mutex.hpp"
#include "daemon/net/connection.hpp"

namespace rocklock {

// The connections of a server, as long as they live.
//
// Threads: thread-safe.
class ConnectionSet {
public:
    void add(const std::shared_ptr<Connection>& connection) ROCKLOCK_EXCLUDES(mutex_);
    std::vector<std::shared_ptr<Connection>> all() ROCKLOCK_EXCLUDES(mutex_);

private:
    Mutex mutex_;
    std::vector<std::weak_ptr<Connection>> connections_ ROCKLOCK_GUARDED_BY(mutex_);
    std::size_t tidy_at_ ROCKLOCK_GUARDED_BY(mutex_) = 64;
};

// Returns when every connection has read and understood all that its client had sent, and nobody
// waits to be accepted (`somebody_waits`), or after two seconds: a client that sends without end
// does not keep the others from their locks. Runs on the thread that accepts.
boost::asio::awaitable<void> drain_sockets(boost::asio::io_context& control,
                                           ConnectionSet& connections,
                                           std::function<bool()> somebody_waits);

}  // namespace rocklock
