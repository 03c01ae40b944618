// Many threads that want the same resource: measures the time from one thread's release until the
// next thread holds the resource, and how evenly the threads get it.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "contestants.hpp"

namespace rocklock::bench {

struct HandOff {
    // The median time from the call of release() to the return of the next acquire().
    double latency_us = 0;
    double hand_offs_a_second = 0;
    // Jain's index: 1 if all threads got the resource equally often, 1/threads if one thread always
    // got it.
    double fairness = 0;
};
HandOff measure_hand_off(Kind kind, const std::string& folder, std::size_t threads,
                         std::chrono::milliseconds duration);

}  // namespace rocklock::bench
