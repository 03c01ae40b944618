// Detects a daemon whose boot clock differs from that of this process. Because the deadlines of
// leases are times of the boot clock, the daemon and its client must have the same boot clock. In
// different time namespaces, and on different machines, the boot clocks differ.
#pragma once

#include <string>

#include <rocklock/clock.hpp>
#include <rocklock/result.hpp>

#include "wire/call.hpp"

namespace rocklock {

// Compares `pong`, the response to a Ping, with this process. The boot id in `pong` must be equal
// to `boot_id`, unless one of the two is empty. The boot clock in `pong` must be between `before`
// and `after`, the times of this process's boot clock before the request and after the response.
// `path` is the socket of the daemon.
//
// Errors: invalid_argument if the boots differ, or if the boot clock of the daemon is not between
//         `before` and `after`, with a small tolerance
Result<void> check_boot_clock(const Pong& pong, const std::string& boot_id, BootTime before,
                              BootTime after, const std::string& path);

}  // namespace rocklock
