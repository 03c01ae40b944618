// The boot clock and the wall clock.
//
// The boot clock decides when a lease expires. It counts the time since the machine was started,
// does not jump, includes the time during which the machine was suspended, and is not affected by
// the restart of a process. If a store is opened again before the machine is restarted, the
// deadlines on disk are therefore still exact. The wall clock provides the times for display. No
// deadline of a lease depends on the wall clock; docs/guarantees.md lists the few decisions that
// depend on it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include <rocklock/export.hpp>

namespace rocklock {

// Gives time points of the boot clock their own type, so that the compiler rejects a mix with other
// clocks. BootClock has no now(): a function that needs the time has an Instant as a parameter.
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

// One reading of both clocks. The lock table makes each decision at one Instant.
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

    // Returns the current time. While a store is open, the boot clock must not go back; the wall
    // clock may jump.
    virtual Instant now() = 0;

    // Returns an identifier of the machine's current boot. If two processes get equal identifiers
    // that are not empty, a BootTime means the same moment in both processes. The identifier is
    // empty if it cannot be determined: in a time namespace with an offset, or without /proc. If it
    // is empty, every lease starts again when a store is opened.
    virtual std::string boot_id() = 0;
};

// Returns the machine's clock.
ROCKLOCK_API Clock& system_clock();

}  // namespace rocklock
