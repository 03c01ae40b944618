// Rehearsal: simulates faults and delays that the DynamoDB service has and Rocklock does not have,
// so that programs can be tested with them. docs/rehearsal.md describes each one.
#pragma once

#include <chrono>
#include <cstdint>

namespace rocklock {

// All faults are off by default. With the same seed, the same sequence of requests gets the same
// faults.
struct Rehearsal {
    std::uint64_t seed = 1;
    // Query and Scan of a global index return the state that the index had at this time before the
    // request.
    std::chrono::milliseconds index_lag{};
    // The deletion of expired items is delayed by this time.
    std::chrono::milliseconds time_to_live_lag{};
    // After the time-to-live setting of a table was changed, further changes of it are refused for
    // this time.
    std::chrono::milliseconds time_to_live_pause{};
    // The percentage of the requests for data that are throttled. In a batch, this is decided for
    // each element separately.
    std::uint32_t throttle_percent = 0;
    // The percentage of the single writes and of the actions of transactions that fail with
    // transaction_conflict.
    std::uint32_t conflict_percent = 0;

    bool is_on() const {
        return index_lag.count() > 0 || time_to_live_lag.count() > 0 ||
               time_to_live_pause.count() > 0 || throttle_percent > 0 || conflict_percent > 0;
    }
};

}  // namespace rocklock
