// What each user may have, from the settings of `serve`.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <rocklock/lock.hpp>
#include <rocklock/result.hpp>

#include "daemon/cli/settings.hpp"

namespace rocklock {

// The settings, each with its default.
inline constexpr std::array<std::pair<const char*, const char*>, 8> user_limit_settings = {
    {{"memory-share", "50%"},
     {"max-user-sessions", "auto"},
     {"max-user-grants", "auto"},
     {"max-user-waiters", "auto"},
     {"max-user-lock-bytes", "auto"},
     {"max-user-connections", "auto"},
     {"max-user-drafts", "auto"},
     {"max-user-table-bytes", "auto"}}};

// Reads all but that of connections. A limit of `auto` follows from the daemon's share of the
// memory, of which one user may fill a quarter; 0 is no limit. The bytes of tables in `store`, a
// directory, follow from the size of its file system, of which one user may fill a quarter; `store`
// is empty if the tables are in memory.
//
// Errors: invalid_argument
Result<UserLimits> read_user_limits(const Settings& settings, const std::string& store);
// None: `auto`. Errors: invalid_argument
Result<std::optional<std::uint64_t>> read_max_user_connections(const Settings& settings);

}  // namespace rocklock
