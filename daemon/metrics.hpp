// What the daemon counts of its calls, and all its figures as Prometheus reads them.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include <rocklock/lock.hpp>

#include "wire/call.hpp"

namespace rocklock {

// How long calls took, in buckets. Threads: thread-safe; a reader may see a call half counted.
class LatencyHistogram {
public:
    // The upper ends of all buckets but the last, which has none.
    static constexpr std::array<std::chrono::microseconds, 16> ends = {
        std::chrono::microseconds{50},        std::chrono::microseconds{100},
        std::chrono::microseconds{250},       std::chrono::microseconds{500},
        std::chrono::microseconds{1'000},     std::chrono::microseconds{2'500},
        std::chrono::microseconds{5'000},     std::chrono::microseconds{10'000},
        std::chrono::microseconds{25'000},    std::chrono::microseconds{50'000},
        std::chrono::microseconds{100'000},   std::chrono::microseconds{250'000},
        std::chrono::microseconds{500'000},   std::chrono::microseconds{1'000'000},
        std::chrono::microseconds{2'500'000}, std::chrono::microseconds{10'000'000}};

    void add(std::chrono::nanoseconds took);
    // Lines of `name`, with these labels before that of the bucket: `verb="Acquire",` or nothing.
    void append(std::string& text, const std::string& name, const std::string& labels) const;

private:
    std::array<std::atomic<std::uint64_t>, ends.size() + 1> counts_{};
    std::atomic<std::int64_t> sum_ns_{0};
};

// Threads: thread-safe.
class CallCounters {
public:
    // A call of this verb was answered. `outcome`: nothing, or the code of its error.
    void add(std::size_t verb, std::optional<ErrorCode> outcome, std::chrono::nanoseconds took);
    // Lines for all verbs that have been called.
    void append(std::string& text) const;

private:
    static constexpr std::size_t verbs = std::variant_size_v<CallBody>;
    // One for success, and then one for each code.
    static constexpr std::size_t outcomes = static_cast<std::size_t>(ErrorCode::corrupt) + 2;

    std::array<std::array<std::atomic<std::uint64_t>, outcomes>, verbs> counts_{};
    std::array<LatencyHistogram, verbs> latencies_;
};

// Lines for one figure. `type` is counter or gauge.
void append_metric(std::string& text, std::string_view name, std::string_view type,
                   std::string_view help, std::uint64_t value);

// Lines for what the lock service counts.
void append_statistics(std::string& text, const LockStatistics& statistics);

}  // namespace rocklock
