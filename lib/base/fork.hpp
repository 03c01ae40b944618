// Detects whether an object is used in a forked child of the process that created it.
//
// After a fork, the child has a copy of all memory, but must not use objects such as an open store:
// their threads do not exist in the child, their mutexes may be locked forever, and their files are
// shared with the parent.
#pragma once

#include <cstdint>

#include "base/mutant.hpp"

namespace rocklock {

// Returns the fork depth of this process: 0 in the process that first called this function, and one
// more in each child that is forked after that. Cheap: no system call.
std::uint32_t fork_generation() noexcept;

// Records the process that created the object.
class ForkCheck {
public:
    ForkCheck() : generation_(fork_generation()) {}
    // Returns true if the current process is a descendant of the process that created the object.
    bool in_child() const noexcept {
        return generation_ != fork_generation() && !mutated(Mutant::child_continues);
    }

private:
    std::uint32_t generation_;
};

}  // namespace rocklock
