// The error of a request that exceeds a limit for each user (UserLimits).
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include <rocklock/error.hpp>
#include <rocklock/identity.hpp>

namespace rocklock {

// The user number of all TCP clients. The kernel cannot identify their users.
inline constexpr std::uint32_t tcp_user = std::numeric_limits<std::uint32_t>::max();

// Returns limit_exceeded. The message states how many `what` (a plural noun) the user has
// (`count`), that the limit is `max`, and that `option` can raise the limit.
Error user_limit_exceeded(UserId uid, std::string_view what, std::uint64_t count, std::uint64_t max,
                          std::string_view option);

}  // namespace rocklock
