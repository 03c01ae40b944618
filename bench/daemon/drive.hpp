// Clients at work: each asks again as soon as it is answered.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

#include "daemon/client.hpp"

namespace rocklock::bench {

// What one client does.
struct Work {
    Client* client = nullptr;
    // Asks for the next thing: at the beginning, and after each answer. False: nothing is asked
    // any more. `stop` says that it should come to an end.
    std::function<bool(bool stop)> go_on;
};

// Shares the work out among so many threads, lets them run for so long, and waits until each has
// come to its end. Returns the seconds that it took.
double drive(const std::vector<Work>& all, std::size_t threads, std::chrono::milliseconds duration);

}  // namespace rocklock::bench
