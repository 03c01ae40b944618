// The error of a request that exceeds a limit per user (UserLimits).
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include <rocklock/error.hpp>

namespace rocklock {

// The user of all clients over TCP, which the kernel does not identify.
inline constexpr std::uint32_t tcp_user = std::numeric_limits<std::uint32_t>::max();

// Returns limit_exceeded. The message states that the user has `count` `what` (a plural noun), that
// the limit is `max`, and that `option` raises it.
Error user_limit_exceeded(std::uint32_t uid, std::string_view what, std::uint64_t count,
                          std::uint64_t max, std::string_view option);

}  // namespace rocklock
