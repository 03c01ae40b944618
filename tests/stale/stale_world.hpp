// One write by the holder of a lock. The holder is stopped in the middle of the write.
//
//     ann holds orders/1 ──► she writes ──► stopped at a yield point ──► her lock ends, or
//     not; bob gets it, or it stays free ──► she continues ──► bob writes ──► she writes again
//
// The seed determines the write, the proof of ownership that it presents, the yield point, and the
// way in which ann loses the lock. Each call of the storage during ann's write is a yield point.
// The whole run uses one thread, so equal seeds give equal runs.
#pragma once

#include <cstdint>
#include <string>

namespace rocklock::proof {

struct StaleRun {
    // A description of the violation. Empty if there was no violation.
    std::string wrong;
    // Whether ann was stopped. She is not stopped if her write had too few yield points.
    bool stopped = false;
    // Whether bob had the lock before ann's commit was queued.
    bool overtaken = false;
    // Whether ann's write was refused.
    bool refused = false;
};

StaleRun run_stale_world(std::uint64_t seed);

}  // namespace rocklock::proof
