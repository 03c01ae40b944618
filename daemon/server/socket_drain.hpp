// After the server was stalled, reads all pending input. Only then may leases expire, because the
// input can contain renewals.
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

// Returns when every connection has processed all input that its client has sent, and
// `any_client_waits` has returned false. `any_client_waits` must return whether a client waits to
// be accepted. Returns after at most two seconds, so that a client that sends continuously cannot
// delay the others. Runs on the thread that accepts connections.
boost::asio::awaitable<void> drain_sockets(boost::asio::io_context& control,
                                           ConnectionSet& connections,
                                           std::function<bool()> any_client_waits);

}  // namespace rocklock
