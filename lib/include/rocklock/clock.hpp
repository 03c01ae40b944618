// The two clocks, and why there are two.
//
// Leases are judged on the boot clock: it has no jumps, it counts the time a machine was suspended,
// and it goes on across a restart of a process, so a deadline written to disk is still exact when
// the store is opened again on the same boot. What people read (since when, until when) is the wall
// clock, and no deadline is judged by it; docs/guarantees.md names the few things that are.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include <rocklock/export.hpp>

namespace rocklock {

// A clock only in the sense of std::chrono: it gives time points a type of their own. Nobody can
// ask it for the time; whoever needs the time is handed an Instant.
struct BootClock {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<BootClock>;
    static constexpr bool is_steady = true;
};

// Nanoseconds since the machine started, suspended time included (CLOCK_BOOTTIME).
using BootTime = BootClock::time_point;
// Milliseconds since 1970-01-01T00:00:00Z.
using WallTime = std::chrono::sys_time<std::chrono::milliseconds>;

// One reading of both clocks. Every decision of the lock table is made at one Instant.
struct Instant {
    BootTime boot;
    WallTime wall;
};

// Where the time comes from. Threads: thread-safe.
class ROCKLOCK_API Clock {
public:
    Clock() = default;
    Clock(const Clock&) = delete;
    Clock& operator=(const Clock&) = delete;
    virtual ~Clock() = default;

    // The boot clock must not go back while a store is open; the wall clock may do as it likes.
    virtual Instant now() = 0;

    // Names the time line that boot times belong to: equal for two processes exactly when a
    // BootTime means the same moment to both. Empty when that cannot be known (a time namespace of
    // its own, no /proc); every lease then starts anew when a store is opened.
    virtual std::string boot_id() = 0;
};

// The machine's own clock.
ROCKLOCK_API Clock& system_clock();

}  // namespace rocklock
