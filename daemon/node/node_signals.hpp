// Handles SIGTERM and SIGINT during the whole time of a node, also while it has no role.
#pragma once

#include <atomic>
#include <chrono>
#include <stop_token>
#include <thread>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include "daemon/server/service_manager.hpp"

namespace rocklock {

// The manager and the relay also handle the signals while they run. The token ends them if a signal
// arrives while they start. A second signal ends the process at once.
//
// Threads:  thread-safe. Has a thread of its own.
// Lifetime: borrows the service manager.
class NodeSignals {
public:
    explicit NodeSignals(const ServiceManager& manager);
    NodeSignals(const NodeSignals&) = delete;
    NodeSignals& operator=(const NodeSignals&) = delete;
    ~NodeSignals();

    // A stop is requested by the first signal.
    std::stop_token token() const { return stop_.get_token(); }
    // Returns after `time`, or when a stop is requested.
    void wait_for(std::chrono::milliseconds time) const;
    // While the node waits, this object notifies the watchdog of the service manager, which the
    // manager and the relay do otherwise.
    void set_waiting(bool waiting) { waiting_ = waiting; }

private:
    boost::asio::awaitable<void> feed_watchdog();

    const ServiceManager& manager_;
    std::stop_source stop_;
    std::atomic<bool> waiting_{true};
    boost::asio::io_context context_;
    boost::asio::signal_set signals_;
    std::thread thread_;
};

}  // namespace rocklock
