#include "daemon/server/reload.hpp"

#include <algorithm>
#include <cstddef>

namespace rocklock {
namespace {

void log_changes(const ReloadedSettings& reloaded, const Log& log) {
    std::size_t restarts = 0;
    for (const auto& change : reloaded.changes) {
        if (!change.live) ++restarts;
        log.write({change.live ? LogLevel::info : LogLevel::warning,
                   change.live ? "setting_changed" : "setting_needs_restart",
                   change.live ? "a setting was changed"
                               : "a changed setting takes effect when the daemon is restarted",
                   {{"setting", change.name}, {"before", change.before}, {"after", change.after}}});
    }
    log.write({LogLevel::info,
               "reloaded",
               "the settings were read again",
               {{"changed", reloaded.changes.size() - restarts}, {"need_restart", restarts}}});
}

}  // namespace

std::uint64_t default_max_connections(int max_connections) {
    return static_cast<std::uint64_t>(std::max(max_connections / 4 * 3, 1));
}

std::uint64_t max_user_connections(const LiveSettings& settings, int max_connections) {
    return settings.max_user_connections.value_or(default_max_connections(max_connections));
}

void set_connection_limits(const LiveSettings& settings, const SettingUsers& users) {
    const UserConnectionLimits limits{max_user_connections(settings, users.max_connections),
                                      settings.max_user_buffer_bytes};
    users.traffic.users.set_max(limits.connections);
    users.traffic.buffers.set_max(limits.buffer_bytes);
    users.pages.set_user_limits(settings.user_limits, limits);
}

bool apply_reloaded(const Result<ReloadedSettings>& reloaded, const SettingUsers& users) {
    const auto refuse = [&](const Error& error) {
        users.log.write({LogLevel::error,
                         "reload_failed",
                         "the settings could not be read again, and none has changed",
                         {{"error", error.message}}});
        return false;
    };
    if (!reloaded) return refuse(reloaded.error());
    // Checked before anything changes.
    const LiveSettings& live = reloaded->live;
    if (auto kept = users.database.set_retention(live.retention); !kept) {
        return refuse(kept.error());
    }
    if (auto limited = users.database.set_user_limits(live.user_limits); !limited) {
        return refuse(limited.error());
    }
    if (auto set = users.database.set_slow_wait(live.slow_wait); !set) return refuse(set.error());
    users.database.storage().set_reserve_bytes(live.reserve_bytes);
    set_connection_limits(live, users);
    // The changes are logged if the old or the new level includes them.
    users.log.set_min_level(std::min(users.log.min_level(), live.log_level));
    log_changes(*reloaded, users.log);
    users.log.set_min_level(live.log_level);
    return true;
}

}  // namespace rocklock
