// Histograms of durations.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace rocklock {

// A histogram of durations. Bucket `i` counts the durations that are at most `bounds[i]` and
// greater than the previous bound. One more bucket, the last, counts the durations that are greater
// than all bounds.
template <std::size_t Size>  // NOLINT(readability-identifier-naming): as a type
class DurationHistogram {
public:
    using Bounds = std::array<std::chrono::microseconds, Size>;

    explicit constexpr DurationHistogram(const Bounds& bounds) : bounds_(&bounds) {}

    void add(std::chrono::nanoseconds duration) {
        std::size_t bucket = 0;
        while (bucket < Size && duration > (*bounds_)[bucket]) ++bucket;
        ++counts_[bucket];
        // The sum of many long durations can exceed the maximum of the type (292 years). It then
        // stays at the maximum.
        constexpr auto longest = std::chrono::nanoseconds::max();
        sum_ = sum_ > longest - duration ? longest : sum_ + duration;
    }

    const Bounds& bounds() const { return *bounds_; }
    const std::array<std::uint64_t, Size + 1>& counts() const { return counts_; }
    std::chrono::nanoseconds sum() const { return sum_; }
    std::uint64_t count() const {
        std::uint64_t all = 0;
        for (const std::uint64_t bucket : counts_) all += bucket;
        return all;
    }
    // Sets the contents to those of a histogram that was stored or received.
    void set(const std::array<std::uint64_t, Size + 1>& counts, std::chrono::nanoseconds sum) {
        counts_ = counts;
        sum_ = sum;
    }

private:
    const Bounds* bounds_;
    std::array<std::uint64_t, Size + 1> counts_{};
    std::chrono::nanoseconds sum_{};
};

namespace histogram_bounds {
using std::chrono::microseconds;
// The bounds for the durations of calls: 10 us to 1 s.
inline constexpr std::array<microseconds, 16> calls{
    microseconds{10},      microseconds{25},      microseconds{50},      microseconds{100},
    microseconds{250},     microseconds{500},     microseconds{1'000},   microseconds{2'500},
    microseconds{5'000},   microseconds{10'000},  microseconds{25'000},  microseconds{50'000},
    microseconds{100'000}, microseconds{250'000}, microseconds{500'000}, microseconds{1'000'000}};
// The bounds for waits, holds and leases: 1 ms to 7 days.
inline constexpr std::array<microseconds, 16> leases{
    std::chrono::milliseconds{1},   std::chrono::milliseconds{10}, std::chrono::milliseconds{100},
    std::chrono::milliseconds{500}, std::chrono::seconds{1},       std::chrono::milliseconds{2'500},
    std::chrono::seconds{5},        std::chrono::seconds{10},      std::chrono::seconds{30},
    std::chrono::minutes{1},        std::chrono::minutes{5},       std::chrono::minutes{15},
    std::chrono::hours{1},          std::chrono::hours{8},         std::chrono::hours{24},
    std::chrono::hours{24 * 7}};
}  // namespace histogram_bounds

using Histogram = DurationHistogram<16>;

}  // namespace rocklock
