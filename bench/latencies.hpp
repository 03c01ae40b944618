// A histogram of durations.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace rocklock::bench {

// The range between two powers of two is divided into 32 buckets of equal width. Therefore, the
// error of a quantile is at most 3 %. record() executes only a few instructions and allocates no
// memory.
//
// Threads: one at a time.
class Latencies {
public:
    void record(std::chrono::nanoseconds duration);
    void add(const Latencies& other);

    std::uint64_t count() const { return count_; }
    // Returns the quantile for `share` (0.5 for the median) in microseconds: at least this share of
    // the durations is at most as long as the quantile. Returns zero if no durations were recorded.
    double quantile_us(double share) const;
    double max_us() const { return static_cast<double>(max_) / 1000; }

private:
    static constexpr std::size_t parts = 32;
    static constexpr std::size_t powers = 40;

    std::array<std::uint64_t, parts * powers> buckets_{};
    std::uint64_t count_ = 0;
    std::uint64_t max_ = 0;
};

}  // namespace rocklock::bench
