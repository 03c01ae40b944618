// Many threads that all want one resource: how long it takes from the release by one until the next
// one has it, and how evenly they get it.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "contestants.hpp"

namespace rocklock::bench {

struct HandOff {
    // From the call of release to the return of the next acquire, at the median.
    double latency_us = 0;
    double hand_offs_a_second = 0;
    // Jain's index: 1 when all threads got it equally often, 1/threads when one got it always.
    double fairness = 0;
};
HandOff measure_hand_off(Kind kind, const std::string& folder, std::size_t threads,
                         std::chrono::milliseconds duration);

}  // namespace rocklock::bench
