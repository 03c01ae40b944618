// Detects whether an object is used in a forked child of the process that created it.
//
// After a fork, the child has a copy of all memory, but it must not use objects such as an open
// store. The threads of these objects do not exist in the child, their mutexes may be locked
// permanently, and their files are shared with the parent.
#pragma once

#include <cstdint>

#include "base/mutant.hpp"

namespace rocklock {

// Returns the fork depth of this process. It is 0 in the process that first called this function.
// In each child that is forked later, it is greater by one than in its parent. The function makes
// no system call.
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
