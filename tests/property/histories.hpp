// Executes every short history of a small set of owners and resources. Each owner performs all
// possible operations, in every order, on the production lock table and on the reference model.
// After each event, the lock table and the model must agree, and no two holders may conflict.
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
    // Whether locks on the first resource may be subtree locks. If so, the two resources are not
    // interchangeable.
    bool subtrees = false;
    // Whether grants may also be stolen, broken and transferred.
    bool forced = false;
    // Whether a request may also ask for any one of the two resources.
    bool any = false;
    // If true, histories that lead to the same state are continued only once. The merged histories
    // could still differ in internal state of the table that it neither shows nor uses. If false,
    // histories are merged only if they differ in nothing but the names of unused owners and
    // resources.
    bool merge = true;
};

struct HistoryTally {
    // All histories with up to this number of operations were executed. `histories` is their
    // number.
    std::uint32_t operations = 0;
    std::uint64_t histories = 0;
    // True if the search is complete, because longer histories lead to no new state.
    bool closed = false;
    // The number of different states. States that differ only in the names of owners and resources
    // count once. 0 if histories are not merged.
    std::uint64_t states = 0;
    // The number of operations that were actually executed. For each operation, the history before
    // it is executed again.
    std::uint64_t played = 0;
    double seconds = 0;
    // The events of the first history that failed, and the reason.
    std::optional<std::string> wrong;

    std::string text() const;
};

// Returns early, with fewer operations, if `seconds` have passed or longer histories lead to no new
// state.
HistoryTally play_every_history(const HistoryBounds& bounds, double seconds);

}  // namespace rocklock::proof
