// The limits of each user, from the settings of `serve`.
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

// The settings and their defaults.
inline constexpr std::array<std::pair<const char*, const char*>, 9> user_limit_settings = {
    {{"memory-share", "50%"},
     {"max-user-sessions", "auto"},
     {"max-user-grants", "auto"},
     {"max-user-waiters", "auto"},
     {"max-user-lock-bytes", "auto"},
     {"max-user-connections", "auto"},
     {"max-user-buffer-bytes", "auto"},
     {"max-user-drafts", "auto"},
     {"max-user-table-bytes", "auto"}}};

// Reads all limits except those of connections and buffers. 0 means no limit. If the value of a
// setting is `auto`, its limit is derived from the memory that one user can use: a quarter of the
// daemon's share of the memory (`memory-share`).
//
// The limit of table bytes is an exception: `auto` is a quarter of the size of the file system that
// contains the directory `store`. If `store` is empty, the tables are in memory, and this limit is
// derived from the memory, too.
//
// Errors: invalid_argument   a setting is not a number or `auto`
Result<UserLimits> read_user_limits(const Settings& settings, const std::string& store);
// Returns nullopt for `auto`. Errors: invalid_argument if the value is not a number or `auto`.
Result<std::optional<std::uint64_t>> read_max_user_connections(const Settings& settings);
// If the value is `auto`, returns half of the memory that one user can use. Errors: as
// read_user_limits().
Result<std::uint64_t> read_max_user_buffer_bytes(const Settings& settings);

}  // namespace rocklock
