// What the daemon counts of its calls, and all its figures as Prometheus reads them.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rocklock/items/table.hpp>
#include <rocklock/lock.hpp>

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

// How often each of some calls was answered, how, and after how long. Threads: thread-safe.
class CallCounters {
public:
    // Its figures are `rocklock_<what>requests_total` and so on, with the name of a call as
    // `label`.
    CallCounters(std::string_view what, std::string_view label, std::vector<std::string_view> names)
        : what_(what), label_(label), names_(std::move(names)), calls_(names_.size()) {}

    // A call was answered, the one of the name with this index. `outcome`: nothing, or the code of
    // its error.
    void add(std::size_t call, std::optional<ErrorCode> outcome, std::chrono::nanoseconds took);
    // Lines for all that have been called.
    void append(std::string& text) const;

private:
    // One for success, and then one for each code.
    static constexpr std::size_t outcomes = static_cast<std::size_t>(ErrorCode::corrupt) + 2;

    struct Counts {
        std::array<std::atomic<std::uint64_t>, outcomes> answered{};
        LatencyHistogram latency;
    };

    const std::string what_;
    const std::string label_;
    const std::vector<std::string_view> names_;
    std::vector<Counts> calls_;
};

// Lines for one figure. `type` is counter or gauge.
void append_metric(std::string& text, std::string_view name, std::string_view type,
                   std::string_view help, std::uint64_t value);

// What one user has of all that is limited by user.
struct UserUsageLine {
    std::uint64_t connections = 0;
    UserLockUsage locks;
    UserTableUsage tables;
};

// Lines for what each user has, and for what each may have.
void append_user_usage(std::string& text, const std::map<std::uint32_t, UserUsageLine>& users);
void append_user_limits(std::string& text, const UserLimits& limits, std::uint64_t max_connections);

// Lines for what the lock service counts.
void append_statistics(std::string& text, const LockStatistics& statistics);

}  // namespace rocklock
