#include "latencies.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace rocklock::bench {

void Latencies::record(std::chrono::nanoseconds duration) {
    const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(duration.count(), 0));
    // Each value below 32 ns has its own bucket.
    const auto power = static_cast<std::size_t>(std::bit_width(value / parts));
    const std::size_t low = power == 0 ? value : (value >> (power - 1)) - parts;
    ++buckets_[std::min(power * parts + low, buckets_.size() - 1)];
    ++count_;
    max_ = std::max(max_, value);
}

void Latencies::add(const Latencies& other) {
    for (std::size_t i = 0; i < buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
    count_ += other.count_;
    max_ = std::max(max_, other.max_);
}

double Latencies::quantile_us(double share) const {
    if (count_ == 0) return 0;
    const auto wanted = std::max<std::uint64_t>(
        1, static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_))));
    std::uint64_t passed = 0;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
        passed += buckets_[i];
        if (passed < wanted) continue;
        const std::size_t power = i / parts;
        const std::size_t low = i % parts;
        // The upper end of the bucket.
        const double end = power == 0 ? static_cast<double>(low)
                                      : std::ldexp(static_cast<double>(low + parts + 1),
                                                   static_cast<int>(power) - 1);
        return std::min(end, static_cast<double>(max_)) / 1000;
    }
    return max_us();
}

}  // namespace rocklock::bench
