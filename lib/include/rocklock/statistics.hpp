// The statistics of a lock manager since it opened its store.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <rocklock/error.hpp>
#include <rocklock/histogram.hpp>
#include <rocklock/identity.hpp>
#include <rocklock/types.hpp>

namespace rocklock {

// The current usage of a user. Usage is counted if there is any limit (UserLimits), or if
// DatabaseOptions::count_users is set.
struct UserLockUsage {
    // The uid; 2^32 - 1 is the user of all clients over TCP.
    UserId uid = 0;
    std::uint64_t sessions = 0;
    std::uint64_t grants = 0;
    std::uint64_t waiters = 0;
    // An estimate of the memory that the sessions, grants and waiters use, in bytes.
    std::uint64_t lock_bytes = 0;

    friend bool operator==(const UserLockUsage&, const UserLockUsage&) = default;
};

// The members `sessions`, `held`, `waiting`, `events`, `classes_draining`, `audit_rows`,
// `oldest_hold` and `users` are values at the time of the call. All other members are counts since
// the store was opened.
//
// `recovered` is the number of grants that existed when the store was opened. Every grant is
// counted: granted + recovered = held + released + expired + stolen + broken + transferred.
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
    // Requests that began to wait.
    std::uint64_t waits = 0;
    std::uint64_t refused = 0;
    std::uint64_t patience_expired = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t deadlocks = 0;
    // Repeated requests that got the result of the first one because of their request id.
    std::uint64_t replays = 0;
    // The number of waiters that could have been granted earlier and were found only by the
    // periodic search of the queues. A value other than 0 indicates a bug in the library.
    std::uint64_t sweep_finds = 0;

    // These two members count locks and not grants: a grant has one lock for each of its resources.
    // `locks_granted` is indexed by Mode. A lock of a resource with permits counts as one in
    // `permits_granted`, whatever its number of permits.
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
    // The classes that are drained now.
    std::uint64_t classes_draining = 0;
    // The rows of the audit log that are kept now.
    std::uint64_t audit_rows = 0;
    // The age of the current grant that has been held for the longest time; 0 if no grant is held.
    std::chrono::milliseconds oldest_hold{0};

    // For each request that waited and was granted: the time from the beginning of the wait to the
    // grant.
    Histogram wait{histogram_bounds::leases};
    // The time from a grant to its end.
    Histogram hold{histogram_bounds::leases};
    // For each renewal: the time that was left of the lease.
    Histogram renew_margin{histogram_bounds::leases};
    // For each acquire that was granted without waiting: the time from the decision to the
    // response, which includes the sync. Measured only if DatabaseOptions::timings is set.
    Histogram acquire{histogram_bounds::calls};

    // Ordered by uid. Empty if usage is not counted.
    std::vector<UserLockUsage> users{};
};

// A resource for which requests have waited.
struct HotResource {
    std::string resource;
    // The number of requests that have waited for the resource. The number can be too high by up to
    // `error`, because only a fixed number of names is counted: a new name replaces the name with
    // the lowest count and inherits this count.
    std::uint64_t waits = 0;
    std::uint64_t error = 0;
};

// The longest holds and the most contended resources.
struct Outliers {
    // Grants that are held now, longest held first.
    std::vector<Holder> longest_held;
    // Ordered by `waits`, highest first.
    std::vector<HotResource> hottest;
};

// A request that has waited for DatabaseOptions::slow_wait, and the holders that block it.
// Waiter::position is not computed; it is always 0.
struct SlowWait {
    Waiter waiter;
    std::chrono::milliseconds waited{};
    // At most 100 holders. Empty if the request is blocked only by earlier waiters, or only because
    // a resource is closed (by a minimum hold or a lock delay).
    std::vector<Holder> holders;
};

}  // namespace rocklock
