// Rehearsal: the nuisances of the service, for programs that must bear them and would never meet
// them here. docs/rehearsal.md tells how each one works.
#pragma once

#include <chrono>
#include <cstdint>

namespace rocklock {

// All off. With the same seed the same requests, one after the other, meet the same nuisances.
struct Rehearsal {
    std::uint64_t seed = 1;
    // Query and Scan of global indexes answer as of so long ago.
    std::chrono::milliseconds index_lag{};
    // Expired items stay so much longer.
    std::chrono::milliseconds time_to_live_lag{};
    // How long a change of the time to live makes the next one refused.
    std::chrono::milliseconds time_to_live_pause{};
    // Of a hundred requests for data so many are throttled; of a batch, each element by itself.
    std::uint32_t throttle_percent = 0;
    // Of a hundred single writes, and of a hundred actions of transactions, so many are in
    // conflict.
    std::uint32_t conflict_percent = 0;

    bool is_on() const {
        return index_lag.count() > 0 || time_to_live_lag.count() > 0 ||
               time_to_live_pause.count() > 0 || throttle_percent > 0 || conflict_percent > 0;
    }
};

}  // namespace rocklock
