// Detects a daemon that has another boot clock than this process. Because the deadlines of
// leases are times of the boot clock, the daemon and its client must have the same boot clock. In
// different time namespaces, and on different machines, the boot clocks differ.
#pragma once

#include <chrono>
#include <string>

#include <rocklock/clock.hpp>
#include <rocklock/result.hpp>

#include "wire/call.hpp"

namespace rocklock {

// Returns true if this process is connected through a relay, and its boot clock is not that of the
// manager, as on another host. The client then counts each lease from the time at which it sent the
// request, and shortens the lease with without_drift().
bool has_other_boot(const Pong& pong, const std::string& boot_id);

// Returns a time that is a little shorter than `time`. When the returned time has passed on the
// clock of this machine, at most `time` has passed on the clock of another machine, although the
// two clocks may run at slightly different rates. Returns no_expiry unchanged.
std::chrono::milliseconds without_drift(std::chrono::milliseconds time);

// Compares `pong`, the response to a Ping, with this process. Succeeds without a comparison if
// has_other_boot() returns true. Otherwise, the boot id in `pong` must be equal to `boot_id`,
// unless one of the two is empty. If `pong` contains the boot clock, it must be between `before`
// and `after`, the times of this process's boot clock before the request and after the response.
// `path` is the socket of the daemon.
//
// Errors: invalid_argument if the boots differ, or if the boot clock of the daemon is not between
//         `before` and `after`, with a small tolerance
Result<void> check_boot_clock(const Pong& pong, const std::string& boot_id, BootTime before,
                              BootTime after, const std::string& path);

}  // namespace rocklock
