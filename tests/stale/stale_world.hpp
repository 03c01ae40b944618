// One write by a holder that is stopped in the middle of it, and what becomes of it.
//
//     ann holds orders/1 ──► she writes ──► stopped at some yield point ──► her lock is lost, or
//     not; bob has it, or nobody ──► she goes on ──► bob writes ──► she tries again
//
// Everything is drawn from the seed: what she writes and how it shows her lock, where she is
// stopped, and how she loses the lock. A yield point is each call that her write makes of the
// storage. All of it runs in one thread, so a seed is always the same world.
#pragma once

#include <cstdint>
#include <string>

namespace rocklock::proof {

struct StaleRun {
    // What was wrong, in words; empty where nothing was.
    std::string wrong;
    // Whether she was stopped at all: her write may have had fewer yield points.
    bool stopped = false;
    // Whether another had the lock before her commit was in the queue.
    bool overtaken = false;
    // Whether her write was refused.
    bool refused = false;
};

StaleRun run_stale_world(std::uint64_t seed);

}  // namespace rocklock::proof
