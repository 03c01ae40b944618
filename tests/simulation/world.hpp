// A small simulated world, which is generated from a seed. It contains:
//
// - the production lock manager on a simulated clock,
// - a store whose progress, crashes and failures the scheduler decides,
// - a few clients, whose messages are lost, repeated and reordered,
// - the reference model, which gets the same events as the manager, and
// - an oracle, which records all promises to clients.
//
// A world with several managers, one after the other, has a store on etcd instead of a disk
// (cluster_world.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace rocklock::simulation {

// The number of occurrences of each kind of event. If a required kind never occurs in a long run,
// the run fails.
using Counts = std::map<std::string, std::uint64_t>;

struct Verdict {
    std::uint64_t seed = 0;
    std::uint64_t steps = 0;
    // The first violation, with the step at which it occurred. nullopt if the run succeeded.
    std::optional<std::string> wrong;
    std::string trace;
};

enum class WorldKind : std::uint8_t { one_manager, cluster };

// Simulates the world of this kind and seed. If `trace` is set, records every step.
Verdict play(WorldKind kind, std::uint64_t seed, bool trace, Counts& counts);

// Returns the kinds of events that must occur in a long run.
const char* const* required_kinds(WorldKind kind);

// The result of simulating one seed after another, until one fails or the time is over.
struct Summary {
    WorldKind kind = WorldKind::one_manager;
    std::uint64_t seeds = 0;
    std::uint64_t steps = 0;
    double seconds = 0;
    Counts counts;
    std::optional<Verdict> failed;
    // Returns the required kinds that never occurred, one per line.
    std::string missing() const;
};
Summary play_all(WorldKind kind, std::uint64_t from, std::uint64_t to, double seconds);

}  // namespace rocklock::simulation
