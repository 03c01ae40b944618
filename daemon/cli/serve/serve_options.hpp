// The settings of `serve`: read when the daemon starts, and again on SIGHUP.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <rocklock/result.hpp>

#include "daemon/cli/arguments.hpp"
#include "daemon/cli/settings.hpp"
#include "daemon/server/server.hpp"

namespace rocklock {

// The settings of `serve`, by name.
using SettingTexts = std::map<std::string, Setting>;

struct ServeSettings {
    ServerOptions options;
    SettingTexts texts;
    // The names of `texts` in the order in which they are printed.
    std::vector<std::string> order;
};

// Errors: invalid_argument if a setting is not valid.
Result<ServeSettings> read_serve_settings(const Arguments& arguments);

// Reads the settings again, and compares them with `in_use`. If a setting can change while the
// daemon runs, enters its new value into `in_use`. Errors: as read_serve_settings(); after an
// error, `in_use` is unchanged.
Result<ReloadedSettings> reload_serve_settings(const Arguments& arguments, SettingTexts& in_use);

}  // namespace rocklock
