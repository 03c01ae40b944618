// A clock that stands still until it is told otherwise.
#pragma once

#include <chrono>
#include <mutex>
#include <string>

#include <rocklock/clock.hpp>

namespace rocklock::testing {

// Both clocks and the boot id are set by hand, and independently, as on a machine whose wall clock
// somebody else sets.
//
// Threads: thread-safe.
class ROCKLOCK_API SimulatedClock final : public Clock {
public:
    // Begins at a boot time of one hour, on 2026-01-01T00:00:00Z, with the boot id "boot-1".
    SimulatedClock();

    Instant now() override;
    std::string boot_id() override;

    // Lets time pass: both clocks go on by as much. Not negative.
    void advance(std::chrono::nanoseconds duration);

    // The boot clock never goes back on one boot.
    void set_boot(BootTime boot);
    void set_wall(WallTime wall);
    // As a clock that is set wrong, or a leap second.
    void jump_wall(std::chrono::milliseconds by);

    // Empty: unknown.
    void set_boot_id(std::string id);
    // The machine starts anew: another boot id, and the boot clock begins at `boot`.
    void reboot(std::string id, BootTime boot = BootTime(std::chrono::seconds(10)));

private:
    std::mutex mutex_;
    BootTime boot_;
    // Finer than WallTime, so that small steps add up.
    std::chrono::sys_time<std::chrono::nanoseconds> wall_;
    std::string boot_id_;
};

}  // namespace rocklock::testing
