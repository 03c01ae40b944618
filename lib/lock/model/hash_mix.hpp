// A hash function for numbers that are consecutive or otherwise regular.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rocklock {

// Multiplies `value` by 2^64 divided by the golden ratio (Knuth, TAOCP 3, 6.4: Fibonacci hashing).
// The high bits of the product depend on all bits of `value`. The function mixes them into the low
// bits, which hash tables use.
inline std::size_t spread(std::uint64_t value) {
    value *= 0x9E3779B97F4A7C15U;
    return value ^ (value >> 32);
}

}  // namespace rocklock
