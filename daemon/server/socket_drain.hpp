// Reads all pending input of a server that was stalled, before any lease is judged to have expired.
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

// The live connections of a server.
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

// Returns when every connection has processed all that its client had sent and `somebody_waits`
// returns false, or after two seconds, so that a client that sends permanently cannot delay the
// others. `somebody_waits` returns true if a client waits to be accepted. Runs on the thread that
// accepts connections.
boost::asio::awaitable<void> drain_sockets(boost::asio::io_context& control,
                                           ConnectionSet& connections,
                                           std::function<bool()> somebody_waits);

}  // namespace rocklock
