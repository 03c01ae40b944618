// What each user may have, from the settings of `serve`.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include <rocklock/lock.hpp>
#include <rocklock/result.hpp>

#include "daemon/cli/settings.hpp"

namespace rocklock {

// The settings, each with its default.
inline constexpr std::array<std::pair<const char*, const char*>, 5> user_limit_settings = {
    {{"memory-share", "50%"},
     {"max-user-sessions", "auto"},
     {"max-user-grants", "auto"},
     {"max-user-waiters", "auto"},
     {"max-user-lock-bytes", "auto"}}};

// Reads them. A limit of `auto` follows from the daemon's share of the memory, of which one user
// may fill a quarter; 0 is no limit. Errors: invalid_argument
Result<UserLimits> read_user_limits(const Settings& settings);

}  // namespace rocklock
