// A histogram of durations, to which many threads can add.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include <rocklock/histogram.hpp>

namespace rocklock {

// Threads: thread-safe, without a mutex.
class Timings {
public:
    void add(std::chrono::nanoseconds duration) {
        const auto& bounds = histogram_bounds::calls;
        std::size_t bucket = 0;
        while (bucket < bounds.size() && duration > bounds[bucket]) ++bucket;
        counts_[bucket].fetch_add(1, std::memory_order_relaxed);
        sum_.fetch_add(duration.count(), std::memory_order_relaxed);
    }
    Histogram snapshot() const {
        std::array<std::uint64_t, histogram_bounds::calls.size() + 1> counts{};
        for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = counts_[i].load();
        Histogram result(histogram_bounds::calls);
        result.set(counts, std::chrono::nanoseconds(sum_.load()));
        return result;
    }

private:
    std::array<std::atomic<std::uint64_t>, histogram_bounds::calls.size() + 1> counts_{};
    std::atomic<std::int64_t> sum_{0};
};

}  // namespace rocklock
