// A clock for tests. Its time changes only when the test calls a function that sets it.
#pragma once

#include <chrono>
#include <mutex>
#include <string>

#include <rocklock/clock.hpp>

namespace rocklock::testing {

// The boot clock, the wall clock and the boot id can be set independently of each other, as on a
// machine on which an administrator sets the wall clock.
//
// Threads: thread-safe.
class ROCKLOCK_API SimulatedClock final : public Clock {
public:
    // The boot clock starts at one hour, the wall clock at 2026-01-01T00:00:00Z, and the boot id is
    // "boot-1".
    SimulatedClock();

    Instant now() override;
    std::string boot_id() override;

    // Advances both clocks by `duration`, which must not be negative.
    void advance(std::chrono::nanoseconds duration);

    // Sets the boot clock, which must not go back; reboot() can set it back.
    void set_boot(BootTime boot);
    void set_wall(WallTime wall);
    // Moves the wall clock by `by`, as a correction of a wrong clock or a leap second does.
    void jump_wall(std::chrono::milliseconds by);

    // Sets the boot id. An empty id simulates a machine whose boot id cannot be determined.
    void set_boot_id(std::string id);
    // Simulates a restart of the machine: sets the boot id, and the boot clock to `boot`.
    void reboot(std::string id, BootTime boot = BootTime(std::chrono::seconds(10)));

private:
    std::mutex mutex_;
    BootTime boot_;
    // In nanoseconds, although WallTime has milliseconds, so that short advances add up exactly.
    std::chrono::sys_time<std::chrono::nanoseconds> wall_;
    std::string boot_id_;
};

}  // namespace rocklock::testing
