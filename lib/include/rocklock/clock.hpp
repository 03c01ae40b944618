// The boot clock and the wall clock.
//
// The boot clock decides when a lease expires. It does not jump, it includes the time during which
// a machine was suspended, and it continues if a process restarts. A deadline on disk is therefore
// still exact if the store is opened again on the same boot. Times for display are read from the
// wall clock. No deadline of a lease depends on the wall clock; docs/guarantees.md lists the few
// decisions that do.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include <rocklock/export.hpp>

namespace rocklock {

// Gives time points of the boot clock their own type, as std::chrono requires. It has no now(): a
// function that needs the time has an Instant as a parameter.
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

// The source of the time. Threads: thread-safe.
class ROCKLOCK_API Clock {
public:
    Clock() = default;
    Clock(const Clock&) = delete;
    Clock& operator=(const Clock&) = delete;
    virtual ~Clock() = default;

    // Returns the current time. The boot clock must not go back while a store is open; the wall
    // clock may jump.
    virtual Instant now() = 0;

    // Returns an identifier of the boot. It is equal for two processes if and only if a BootTime
    // means the same moment in both. It is empty if that cannot be determined (a separate time
    // namespace, no /proc); every lease then starts again when a store is opened.
    virtual std::string boot_id() = 0;
};

// Returns the machine's clock.
ROCKLOCK_API Clock& system_clock();

}  // namespace rocklock
