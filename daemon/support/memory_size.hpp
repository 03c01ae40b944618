// The memory that this process may use.
#pragma once

#include <cstdint>

namespace rocklock {

// Returns the bytes of memory of the machine, or of the control group of this process if that has
// less.
std::uint64_t memory_size();

}  // namespace rocklock
