// Rehearsal: simulates faults and delays that occur with the DynamoDB service and not with
// Rocklock, so that programs can be tested with them. docs/rehearsal.md describes each fault.
#pragma once

#include <chrono>
#include <cstdint>

namespace rocklock {

// The faults to simulate. All are off by default. If a sequence of requests is repeated with the
// same seed, it gets the same faults.
struct Rehearsal {
    std::uint64_t seed = 1;
    // Query and Scan of a global index read an earlier state of the index. This is the age of that
    // state at the time of the request.
    std::chrono::milliseconds index_lag{};
    // The deletion of expired items is delayed by this time.
    std::chrono::milliseconds time_to_live_lag{};
    // After the time-to-live setting of a table was changed, further changes of the setting are
    // refused for this time.
    std::chrono::milliseconds time_to_live_pause{};
    // The percentage of the requests for items that is throttled. Each element of a batch counts
    // as a request of its own.
    std::uint32_t throttle_percent = 0;
    // The percentage of writes that fail with transaction_conflict: writes of single items and
    // actions of transactions.
    std::uint32_t conflict_percent = 0;

    bool is_on() const {
        return index_lag.count() > 0 || time_to_live_lag.count() > 0 ||
               time_to_live_pause.count() > 0 || throttle_percent > 0 || conflict_percent > 0;
    }
};

}  // namespace rocklock
