// One small world, wholly made from a seed: the production lock manager on a simulated clock and a
// store whose progress, crashes and failures the scheduler here decides, a few clients that lose,
// repeat and reorder messages, the reference model beside it, and an oracle outside of it all that
// remembers what was promised to whom.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace rocklock::simulation {

// How often each kind of thing happened. One that never does is a failure of the simulation.
using Counts = std::map<std::string, std::uint64_t>;

struct Verdict {
    std::uint64_t seed = 0;
    std::uint64_t steps = 0;
    // What went wrong, and at which step; nothing when all was as it must be.
    std::optional<std::string> wrong;
    std::string trace;
};

// Plays the world of this seed. With `trace`, tells every step.
Verdict play(std::uint64_t seed, bool trace, Counts& counts);

// The kinds that a long enough run must have seen.
const char* const* required_kinds();

// Plays seeds one after another, until one goes wrong or the time is over.
struct Summary {
    std::uint64_t seeds = 0;
    std::uint64_t steps = 0;
    double seconds = 0;
    Counts counts;
    std::optional<Verdict> failed;
    // Kinds that never happened, one a line.
    std::string missing() const;
};
Summary play_all(std::uint64_t from, std::uint64_t to, double seconds);

}  // namespace rocklock::simulation
