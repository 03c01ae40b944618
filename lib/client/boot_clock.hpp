// Detects a daemon with a boot clock that differs from that of this process. Because the deadlines
// of leases are times of the boot clock, both must have the same boot clock. In different time
// namespaces, the boot clocks differ.
#pragma once

#include <string>

#include <rocklock/clock.hpp>
#include <rocklock/result.hpp>

#include "wire/call.hpp"

namespace rocklock {

// Compares the boot clock in the response to a Ping with that of this process `before` the request
// and `after` the response. `path` is the socket of the daemon.
//
// Errors: invalid_argument if the round trip cannot explain the difference
Result<void> check_boot_clock(const Pong& pong, BootTime before, BootTime after,
                              const std::string& path);

}  // namespace rocklock
