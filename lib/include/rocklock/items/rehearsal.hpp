// Rehearsal: injects faults and delays of the DynamoDB service that Rocklock itself does not have,
// so that programs can be tested with them. docs/rehearsal.md describes each one.
#pragma once

#include <chrono>
#include <cstdint>

namespace rocklock {

// All faults are off by default. With the same seed, the same sequence of requests gets the same
// faults.
struct Rehearsal {
    std::uint64_t seed = 1;
    // Query and Scan of global indexes return the state of the index at this time before the
    // request.
    std::chrono::milliseconds index_lag{};
    // Expired items are deleted later by this time.
    std::chrono::milliseconds time_to_live_lag{};
    // After a change of the time-to-live setting, further changes are refused for this time.
    std::chrono::milliseconds time_to_live_pause{};
    // The percentage of the requests for data that are throttled. Each element of a batch is
    // selected separately.
    std::uint32_t throttle_percent = 0;
    // The percentage of the single writes, and of the actions of transactions, that fail with a
    // conflict.
    std::uint32_t conflict_percent = 0;

    bool is_on() const {
        return index_lag.count() > 0 || time_to_live_lag.count() > 0 ||
               time_to_live_pause.count() > 0 || throttle_percent > 0 || conflict_percent > 0;
    }
};

}  // namespace rocklock
