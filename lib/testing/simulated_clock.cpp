#include <rocklock/testing/simulated_clock.hpp>

#include <utility>

#include "base/assert.hpp"

namespace rocklock::testing {

using namespace std::chrono_literals;

SimulatedClock::SimulatedClock()
    : boot_(1h),
      wall_(std::chrono::sys_days(std::chrono::year(2026) / std::chrono::January / 1)),
      boot_id_("boot-1") {}

Instant SimulatedClock::now() {
    const std::lock_guard lock(mutex_);
    return {boot_, std::chrono::floor<std::chrono::milliseconds>(wall_)};
}

std::string SimulatedClock::boot_id() {
    const std::lock_guard lock(mutex_);
    return boot_id_;
}

void SimulatedClock::advance(std::chrono::nanoseconds duration) {
    ROCKLOCK_ASSERT(duration >= 0ns);
    const std::lock_guard lock(mutex_);
    boot_ += duration;
    wall_ += duration;
}

void SimulatedClock::set_boot(BootTime boot) {
    const std::lock_guard lock(mutex_);
    ROCKLOCK_ASSERT(boot >= boot_);
    boot_ = boot;
}

void SimulatedClock::set_wall(WallTime wall) {
    const std::lock_guard lock(mutex_);
    wall_ = wall;
}

void SimulatedClock::jump_wall(std::chrono::milliseconds by) {
    const std::lock_guard lock(mutex_);
    wall_ += by;
}

void SimulatedClock::set_boot_id(std::string id) {
    const std::lock_guard lock(mutex_);
    boot_id_ = std::move(id);
}

void SimulatedClock::reboot(std::string id, BootTime boot) {
    const std::lock_guard lock(mutex_);
    boot_id_ = std::move(id);
    boot_ = boot;
}

}  // namespace rocklock::testing
