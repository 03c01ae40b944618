// Applies the changes of settings while the daemon runs.
#pragma once

#include <cstdint>
#include <optional>

#include <rocklock/database.hpp>

#include "daemon/api/status_pages.hpp"
#include "daemon/api/traffic.hpp"
#include "daemon/server/server.hpp"
#include "daemon/support/log.hpp"

namespace rocklock {

// The objects that use settings which can change. Lifetime: borrows all of them.
struct SettingUsers {
    Database& database;
    Traffic& traffic;
    StatusPages& pages;
    Log& log;
    // The limit of all connections.
    int max_connections = 0;
};

// Returns the maximum number of connections of a user or a node that has no limit of its own: three
// quarters of all connections.
std::uint64_t default_max_connections(int max_connections);
// Returns the limit of connections of a user.
std::uint64_t max_user_connections(const LiveSettings& settings, int max_connections);

// Sets the limits of connections and buffers, and the limits that the metrics report.
void set_connection_limits(const LiveSettings& settings, const SettingUsers& users);

// Logs each change, and applies the settings. If the settings could not be read, logs the error and
// changes nothing. Returns true if the settings were applied.
bool apply_reloaded(const Result<ReloadedSettings>& reloaded, const SettingUsers& users);

}  // namespace rocklock
