// Detects a daemon whose boot clock is not that of this process. Deadlines of leases are times of
// the boot clock, so both must have the same one. In another time namespace it has an offset.
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
