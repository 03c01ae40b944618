// How fairly something is shared.
#pragma once

#include <cstdint>
#include <span>

namespace rocklock {

// Jain's index of the counts: 1 when all are the same, 1/n when one has all (Jain, Chiu, Hawe: A
// Quantitative Measure of Fairness, 1984). 0 when nobody has anything.
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
