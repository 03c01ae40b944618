// A measure of how evenly counts are distributed.
#pragma once

#include <cstdint>
#include <span>

namespace rocklock {

// Returns Jain's fairness index of n counts. The index is 1 if all counts are equal, 1/n if all
// except one are zero, and 0 if all are zero or if n is 0. See Jain, Chiu, Hawe: A Quantitative
// Measure of Fairness, 1984.
inline double jains_index(std::span<const std::uint64_t> counts) {
    double sum = 0;
    double squares = 0;
    for (const std::uint64_t count : counts) {
        sum += static_cast<double>(count);
        squares += static_cast<double>(count) * static_cast<double>(count);
    }
    return squares == 0 ? 0 : sum * sum / (static_cast<double>(counts.size()) * squares);
}

}  // namespace rocklock
