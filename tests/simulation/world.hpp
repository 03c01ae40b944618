// One small world, generated from a seed. It contains the production lock manager on a simulated
// clock, a store whose progress, crashes and failures the scheduler decides, and a few clients that
// lose, repeat and reorder messages. The reference model runs beside the manager, and an oracle
// remembers what was promised to each client.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace rocklock::simulation {

// The number of occurrences of each kind of event. If a required kind never occurs, the simulation
// fails.
using Counts = std::map<std::string, std::uint64_t>;

struct Verdict {
    std::uint64_t seed = 0;
    std::uint64_t steps = 0;
    // The first violation and the step at which it occurred. None if the run succeeded.
    std::optional<std::string> wrong;
    std::string trace;
};

// Simulates the world of this seed. If `trace` is set, records every step.
Verdict play(std::uint64_t seed, bool trace, Counts& counts);

// Returns the kinds of events that a long run must have seen.
const char* const* required_kinds();

// Simulates seeds one after another until one fails or the time is over.
struct Summary {
    std::uint64_t seeds = 0;
    std::uint64_t steps = 0;
    double seconds = 0;
    Counts counts;
    std::optional<Verdict> failed;
    // Returns the kinds that never occurred, one per line.
    std::string missing() const;
};
Summary play_all(std::uint64_t from, std::uint64_t to, double seconds);

}  // namespace rocklock::simulation
