// Drives clients that send the next request as soon as they receive a response.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

#include "daemon/client.hpp"

namespace rocklock::bench {

// The work of one client.
struct Work {
    Client* client = nullptr;
    // Sends the next request and returns true. If the work is complete, sends no request and
    // returns false. Called at the start and after each response. If `stop` is true, the work must
    // be completed as soon as possible.
    std::function<bool(bool stop)> proceed;
};

// Distributes the work over at most `threads` threads. Sets `stop` after `duration`, and waits
// until the work of each client is complete. Returns the elapsed seconds.
double drive(const std::vector<Work>& all, std::size_t threads, std::chrono::milliseconds duration);

}  // namespace rocklock::bench
