// Where a setting comes from: the command line, the environment, /etc/rocklock.conf, or its
// default.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/result.hpp>

#include "daemon/cli/arguments.hpp"

namespace rocklock {

struct Setting {
    std::string value;
    // "the command line", "ROCKLOCK_LEASE", "/etc/rocklock.conf", "default".
    std::string source;
};

class Settings {
public:
    // Reads the file. Errors: invalid_argument, for a line that says nothing we know.
    static Result<Settings> load(const Arguments& arguments);

    // By the name of its flag, as in "lease".
    Setting get(std::string_view name, std::string_view default_value) const;
    // Errors: invalid_argument.
    Result<std::chrono::milliseconds> duration(std::string_view name,
                                               std::string_view default_value) const;
    // A whole number from `least` to `most`. Errors: invalid_argument.
    struct Range {
        std::int64_t least = 0;
        std::int64_t most = 0;
    };
    Result<std::int64_t> number(std::string_view name, std::string_view default_value,
                                Range range) const;
    // Of a hundred, as in "5%" or "5". Errors: invalid_argument.
    Result<std::uint32_t> percent(std::string_view name, std::string_view default_value) const;
    // Nothing where nobody says anything.
    Result<std::optional<std::chrono::milliseconds>> optional_duration(std::string_view name) const;
    // "forever" is no_limit.
    Result<std::chrono::milliseconds> patience(std::string_view default_value) const;
    // Errors: invalid_argument, unless it is one of the words.
    Result<std::string> choice(std::string_view name, std::string_view default_value,
                               const std::vector<std::string_view>& words) const;

private:
    std::map<std::string, std::string, std::less<>> flags_;
    std::map<std::string, std::string, std::less<>> file_;
    std::string file_name_;
};

// The variables that give settings, in the order of their names: "ROCKLOCK_LEASE" and so on.
std::vector<std::string> setting_variables();

// Where a user's data, socket and log lie: ${XDG_STATE_HOME:-~/.local/state}/rocklock.
std::string user_directory();
// The socket of this user's own daemon.
std::string user_socket();
// A path that means the same to whoever it is handed on to, wherever that stands. What may be empty
// stays so.
std::string absolute_path(std::string path);
// Errors: invalid_argument, for one that no socket can have; says what to do.
Result<void> check_socket_path(const std::string& path);
// The socket to talk to. This and those below are absolute.
std::string client_socket(const Settings& settings);
// The socket and the store of a daemon.
Setting server_socket(const Settings& settings);
Setting server_store(const Settings& settings);

// Makes a directory and those above it, for this user alone. Errors: read_only, io_error.
Result<void> make_directories(const std::string& path);

}  // namespace rocklock
