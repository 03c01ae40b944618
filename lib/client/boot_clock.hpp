// Detects a daemon whose boot clock differs from that of this process. Because the deadlines of
// leases are times of the boot clock, the daemon and its client must have the same boot clock. In
// different time namespaces, and on different machines, the boot clocks differ.
#pragma once

#include <chrono>
#include <string>

#include <rocklock/clock.hpp>
#include <rocklock/result.hpp>

#include "wire/call.hpp"

namespace rocklock {

// Returns true if this process is a client of a relay and its host has another boot clock than the
// manager. Leases are then counted from the time at which a request was sent, and without_drift().
bool has_other_boot(const Pong& pong, const std::string& boot_id);

// Returns a time that was measured with the clock of another machine, shortened so that it has not
// passed later on the clock of that machine than on the clock of this one.
std::chrono::milliseconds without_drift(std::chrono::milliseconds time);

// Compares `pong`, the response to a Ping, with this process. The boot id in `pong` must be equal
// to `boot_id`, unless one of the two is empty or has_other_boot() returns true. The boot clock in
// `pong` must be between `before` and `after`, the times of this process's boot clock before the
// request and after the response. `path` is the socket of the daemon.
//
// Errors: invalid_argument if the boots differ, or if the boot clock of the daemon is not between
//         `before` and `after`, with a small tolerance
Result<void> check_boot_clock(const Pong& pong, const std::string& boot_id, BootTime before,
                              BootTime after, const std::string& path);

}  // namespace rocklock
