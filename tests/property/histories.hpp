// Every short history of a small world, brute force: each owner does anything it could do, in every
// order, on the production lock table with the reference model beside it. After each event the two
// must agree, and no two holders may be in conflict.
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
    // Locks on the first resource may cover what lies below it; the two are not alike then.
    bool subtrees = false;
    // A grant may change hands by force, too: steal, break and transfer.
    bool forced = false;
    // Histories that lead to the same state go on as one. What the table has in memory but neither
    // shows nor acts upon might differ; without this nothing is taken for equal but the names of
    // owners and resources that have done nothing yet.
    bool merge = true;
};

struct HistoryTally {
    // Up to this length all histories were played, and there are so many of them.
    std::uint32_t operations = 0;
    std::uint64_t histories = 0;
    // Longer ones come to no state from which these have not gone on.
    bool closed = false;
    // Different ones, whatever the owners and resources are called; only when they are merged.
    std::uint64_t states = 0;
    // Operations that were really played to find that out, each after a life of its own.
    std::uint64_t played = 0;
    double seconds = 0;
    // The first history that went wrong, event by event, and what was wrong.
    std::optional<std::string> wrong;

    std::string text() const;
};

// Ends early, with fewer operations, when the time is over, or when longer histories bring nothing
// new.
HistoryTally play_every_history(const HistoryBounds& bounds, double seconds);

}  // namespace rocklock::proof
