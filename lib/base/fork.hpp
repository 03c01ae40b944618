// Whether this process is still the one that made something.
//
// After a fork the child has a copy of everything and a right to none of it: threads are gone,
// mutexes may be held by nobody, files are shared with the parent.
#pragma once

#include <cstdint>

#include "base/mutant.hpp"

namespace rocklock {

// Counts the forks between this process and the first one. Cheap: no system call.
std::uint32_t fork_generation() noexcept;

// Remembers the process it was made in.
class MadeHere {
public:
    MadeHere() : generation_(fork_generation()) {}
    // Whether this is a child, or a child's child, of that process.
    bool in_child() const noexcept {
        return generation_ != fork_generation() && !mutated(Mutant::child_goes_on);
    }

private:
    std::uint32_t generation_;
};

}  // namespace rocklock
