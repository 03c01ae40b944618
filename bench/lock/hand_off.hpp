// Measures many threads that acquire the same resource. The results are the time from the release
// by one thread until the next thread holds the resource, and how evenly the grants are distributed
// over the threads.
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
    // Jain's index: 1 if all threads got the resource equally often, 1/threads if only one thread
    // got it.
    double fairness = 0;
};
HandOff measure_hand_off(Kind kind, const std::string& folder, std::size_t threads,
                         std::chrono::milliseconds duration);

}  // namespace rocklock::bench
