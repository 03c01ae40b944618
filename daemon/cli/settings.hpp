// Settings of the program. The value of a setting comes from the first of these sources that
// contains it: the command line, the environment, /etc/rocklock.conf, the default.
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
    // "the command line", "ROCKLOCK_LEASE", "/etc/rocklock.conf" or "default".
    std::string source;
};

class Settings {
public:
    // Reads the configuration file. Errors: invalid_argument if the file cannot be read or has a
    // line that is not a known setting.
    static Result<Settings> load(const Arguments& arguments);

    // Returns the setting whose option has this name, such as "lease".
    Setting get(std::string_view name, std::string_view default_value) const;
    // Returns the value in the configuration file, regardless of the command line and the
    // environment. Returns nullopt if the file has no value or an empty one.
    std::optional<Setting> in_file(std::string_view name) const;
    // Returns true if `source`, the source of a setting, is the configuration file.
    bool is_file(std::string_view source) const { return source == file_name_; }
    // Errors: invalid_argument if the value is not a duration.
    Result<std::chrono::milliseconds> duration(std::string_view name,
                                               std::string_view default_value) const;
    struct Range {
        std::int64_t min = 0;
        std::int64_t max = 0;
    };
    // Returns a whole number. Errors: invalid_argument if the value is not a whole number from
    // `range.min` to `range.max`.
    Result<std::int64_t> number(std::string_view name, std::string_view default_value,
                                Range range) const;
    // Accepts "5%" and "5". Errors: invalid_argument if the value is not a percentage.
    Result<std::uint32_t> percent(std::string_view name, std::string_view default_value) const;
    // Returns nullopt if the setting has no value.
    Result<std::optional<std::chrono::milliseconds>> optional_duration(std::string_view name) const;
    // Return the lease of a new session. If the value is "none", return `no_expiry`. If the setting
    // has no value, optional_lease() returns nullopt, and lease() returns limits::lease_default.
    Result<std::optional<std::chrono::milliseconds>> optional_lease() const;
    Result<std::chrono::milliseconds> lease() const;
    // Returns the wait timeout. Returns zero if --no-wait is given, and no_limit if the value is
    // "forever".
    Result<std::chrono::milliseconds> patience(std::string_view default_value) const;
    // Errors: invalid_argument if the value is not one of the words.
    Result<std::string> choice(std::string_view name, std::string_view default_value,
                               const std::vector<std::string_view>& words) const;

private:
    std::map<std::string, std::string, std::less<>> flags_;
    std::map<std::string, std::string, std::less<>> file_;
    std::string file_name_;
};

// Returns the names of the environment variables of all settings, such as "ROCKLOCK_LEASE", sorted.
std::vector<std::string> setting_variables();

// Joins a directory and a name with exactly one slash, also if the directory is `/`.
std::string join_path(std::string directory, std::string_view name);
// Returns the path as an absolute path, which a process with another current directory can use.
// Returns an empty path unchanged.
std::string absolute_path(std::string path);
// Errors: invalid_argument if a socket cannot have this path, for example if the path is too long.
Result<void> check_socket_path(const std::string& path);
// Creates a directory and its parents, accessible to this user only. Errors: read_only,
// invalid_argument if a parent is not a directory, io_error.
Result<void> make_directories(const std::string& path);

}  // namespace rocklock
