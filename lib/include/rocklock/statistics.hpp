// The statistics of a lock manager since it opened its store.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <rocklock/error.hpp>
#include <rocklock/types.hpp>

namespace rocklock {

// A histogram of durations. Bucket `i` counts the durations that are at most `bounds[i]` and
// greater than the previous bound. The last bucket counts those that are greater than all bounds.
template <std::size_t Size>  // NOLINT(readability-identifier-naming): as a type
class DurationHistogram {
public:
    using Bounds = std::array<std::chrono::microseconds, Size>;

    explicit constexpr DurationHistogram(const Bounds& bounds) : bounds_(&bounds) {}

    void add(std::chrono::nanoseconds duration) {
        std::size_t bucket = 0;
        while (bucket < Size && duration > (*bounds_)[bucket]) ++bucket;
        ++counts_[bucket];
        // The sum saturates at 292 years, which many long durations can reach.
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
    // Restores a histogram that was stored or received.
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
// For calls: 10 us to 1 s.
inline constexpr std::array<microseconds, 16> calls{
    microseconds{10},      microseconds{25},      microseconds{50},      microseconds{100},
    microseconds{250},     microseconds{500},     microseconds{1'000},   microseconds{2'500},
    microseconds{5'000},   microseconds{10'000},  microseconds{25'000},  microseconds{50'000},
    microseconds{100'000}, microseconds{250'000}, microseconds{500'000}, microseconds{1'000'000}};
// For waits, holds and leases: 1 ms to 7 days.
inline constexpr std::array<microseconds, 16> leases{
    std::chrono::milliseconds{1},   std::chrono::milliseconds{10}, std::chrono::milliseconds{100},
    std::chrono::milliseconds{500}, std::chrono::seconds{1},       std::chrono::milliseconds{2'500},
    std::chrono::seconds{5},        std::chrono::seconds{10},      std::chrono::seconds{30},
    std::chrono::minutes{1},        std::chrono::minutes{5},       std::chrono::minutes{15},
    std::chrono::hours{1},          std::chrono::hours{8},         std::chrono::hours{24},
    std::chrono::hours{24 * 7}};
}  // namespace histogram_bounds

using Histogram = DurationHistogram<16>;

// The current usage of a user for which there is a limit (UserLimits).
struct UserLockUsage {
    // The uid; 2^32 - 1 is the user of all clients over TCP.
    std::uint32_t uid = 0;
    std::uint64_t sessions = 0;
    std::uint64_t grants = 0;
    std::uint64_t waiters = 0;
    // An estimate of the memory that these use, in bytes.
    std::uint64_t lock_bytes = 0;

    friend bool operator==(const UserLockUsage&, const UserLockUsage&) = default;
};

// Counts since the store was opened. `sessions`, `held` and `waiting` are the values at the time of
// the call. At all times granted + recovered = held + released + expired + stolen + broken +
// transferred.
struct LockStatistics {
    std::uint64_t sessions = 0;
    std::uint64_t held = 0;
    std::uint64_t waiting = 0;
    std::uint64_t recovered = 0;
    std::uint64_t granted = 0;
    std::uint64_t released = 0;
    std::uint64_t expired = 0;
    std::uint64_t stolen = 0;
    std::uint64_t broken = 0;
    std::uint64_t transferred = 0;
    std::uint64_t waits = 0;
    std::uint64_t refused = 0;
    std::uint64_t patience_expired = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t deadlocks = 0;
    std::uint64_t replays = 0;
    // Waiters that could have been granted earlier and that only the periodic sweep found. Must
    // stay 0: any other value is a bug.
    std::uint64_t sweep_finds = 0;

    // Counts locks, not grants: a grant has one lock for each of its resources. `locks_granted` is
    // indexed by Mode. A lock of a resource with permits counts once in `permits_granted`, whatever
    // its number of permits.
    std::array<std::uint64_t, 3> locks_granted{};
    std::uint64_t permits_granted = 0;
    // Requests that were refused because a queue was full.
    std::uint64_t queue_full = 0;
    std::uint64_t steals_refused = 0;
    std::uint64_t conversions = 0;
    std::uint64_t sessions_opened = 0;
    std::uint64_t sessions_expired = 0;
    std::uint64_t renewals = 0;
    // The number of events that are kept now, and the number of events that were dropped to make
    // room for newer ones.
    std::uint64_t events = 0;
    std::uint64_t events_dropped = 0;

    // For requests that waited: the time from the request to its grant.
    Histogram wait{histogram_bounds::leases};
    // The time from a grant to its end.
    Histogram hold{histogram_bounds::leases};
    // The time that was left of a lease when it was renewed.
    Histogram renew_margin{histogram_bounds::leases};
    // The time from the call to the answer of an acquire that did not wait, including the sync.
    // Counted only if DatabaseOptions::timings is set.
    Histogram acquire{histogram_bounds::calls};

    // Ordered by uid. Empty if no user has a limit.
    std::vector<UserLockUsage> users{};
};

// A resource with waiters, now or earlier.
struct HotResource {
    std::string resource;
    // The number of requests that have waited for the resource. The count can be too high by up to
    // `error`: only a fixed number of names is counted, and a new name replaces the one with the
    // lowest count and inherits its count.
    std::uint64_t waits = 0;
    std::uint64_t error = 0;
};

// The longest holds and the most contended resources.
struct Outliers {
    // Live grants, longest held first.
    std::vector<Holder> longest_held;
    // Ordered by `waits`, highest first.
    std::vector<HotResource> hottest;
};

// A wait that has become long, and the holders that block it. The waiter's position is not computed
// and always 0.
struct SlowWait {
    Waiter waiter;
    std::chrono::milliseconds waited{};
    // At most 100. Empty if the request is blocked only by earlier waiters or a closed resource.
    std::vector<Holder> holders;
};

}  // namespace rocklock
