// Many durations, as counts in buckets.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace rocklock::bench {

// Buckets that are a thirty-second of a power of two wide: a quantile is off by 3 % at most, and a
// recording costs a few instructions and no memory.
//
// Threads: one at a time.
class Latencies {
public:
    void record(std::chrono::nanoseconds duration);
    void add(const Latencies& other);

    std::uint64_t count() const { return count_; }
    // In microseconds: what a share of them does not exceed. Zero where there is none.
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
