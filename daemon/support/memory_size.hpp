// The memory that this process may use.
#pragma once

#include <cstdint>

namespace rocklock {

// Returns the bytes of memory of the machine, or the limit of the control group of this process if
// it is lower.
std::uint64_t memory_size();

}  // namespace rocklock
