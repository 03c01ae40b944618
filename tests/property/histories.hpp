// Plays every short history of a small world. Each owner does everything that it can do, in every
// order, on the production lock table and on the reference model. After each event the two must
// agree, and no two holders may conflict.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rocklock/types.hpp>

namespace rocklock::proof {

struct HistoryBounds {
    std::uint32_t operations = 6;
    std::uint32_t owners = 3;
    std::vector<std::string> resources{"a", "b"};
    std::vector<Mode> modes{Mode::read, Mode::write};
    // Whether locks on the first resource may cover what is below it. The two resources are then
    // not interchangeable.
    bool subtrees = false;
    // Whether grants may also be stolen, broken and transferred.
    bool forced = false;
    // Whether histories that lead to the same state continue as one. Internal state of the table
    // that it neither shows nor acts upon could still differ. If false, only the names of owners
    // and resources that have not been used yet are merged.
    bool merge = true;
};

struct HistoryTally {
    // All histories of up to this length were played, and their number.
    std::uint32_t operations = 0;
    std::uint64_t histories = 0;
    // Whether the search is complete: longer histories lead to no other state.
    bool closed = false;
    // The number of different states, apart from the names of owners and resources. 0 if states are
    // not merged.
    std::uint64_t states = 0;
    // The number of operations that were actually played. For each of them the history before it is
    // played again.
    std::uint64_t played = 0;
    double seconds = 0;
    // The first history that failed, event by event, and the reason.
    std::optional<std::string> wrong;

    std::string text() const;
};

// Returns early, with fewer operations, if the time is over or longer histories lead to no new
// state.
HistoryTally play_every_history(const HistoryBounds& bounds, double seconds);

}  // namespace rocklock::proof
