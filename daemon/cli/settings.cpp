#include "daemon/cli/settings.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include <rocklock/lock.hpp>

#include "base/duration_text.hpp"
#include "client/unix_socket.hpp"

namespace rocklock {
namespace {

constexpr std::array<std::string_view, 66> known_settings = {"socket",
                                                             "db",
                                                             "durability",
                                                             "idle-exit",
                                                             "lease",
                                                             "patience",
                                                             "on-death",
                                                             "on-lost",
                                                             "http",
                                                             "accept-host",
                                                             "http-secret-file",
                                                             "peer-listen",
                                                             "peer-nodes",
                                                             "status-listen",
                                                             "peer-cert",
                                                             "peer-key",
                                                             "peer-ca",
                                                             "relay",
                                                             "relay-timeout",
                                                             "store",
                                                             "peer-address",
                                                             "lead-ttl",
                                                             "etcd-timeout",
                                                             "copy",
                                                             "etcd-quota",
                                                             "etcd-compaction",
                                                             "reads",
                                                             "etcd-cert",
                                                             "etcd-key",
                                                             "etcd-ca",
                                                             "etcd-user",
                                                             "etcd-password-file",
                                                             "node",
                                                             "admin-group",
                                                             "principal-from-uid",
                                                             "max-connections",
                                                             "shared-memory",
                                                             "log-format",
                                                             "slow-wait",
                                                             "stall-timeout",
                                                             "reserve-bytes",
                                                             "log-level",
                                                             "log-file",
                                                             "max-log-bytes",
                                                             "history-age",
                                                             "max-history-records",
                                                             "draft-age",
                                                             "max-principal-drafts",
                                                             "audit-age",
                                                             "max-audit-rows",
                                                             "sweep-period",
                                                             "index-lag",
                                                             "ttl-lag",
                                                             "throttle",
                                                             "conflict",
                                                             "rehearsal-seed",
                                                             "region",
                                                             "memory-share",
                                                             "max-user-sessions",
                                                             "max-user-grants",
                                                             "max-user-waiters",
                                                             "max-user-lock-bytes",
                                                             "max-user-connections",
                                                             "max-user-buffer-bytes",
                                                             "max-user-drafts",
                                                             "max-user-table-bytes"};
// Only the configuration file has these: the environment of a client must not change which manager
// it uses.
constexpr std::array<std::string_view, 2> file_settings = {"manager", "private-directory"};

bool is_known(const std::string& name) {
    return std::find(known_settings.begin(), known_settings.end(), name) != known_settings.end() ||
           std::find(file_settings.begin(), file_settings.end(), name) != file_settings.end();
}

// Returns an environment variable, or an empty string if it is not set.
std::string environment(const std::string& name) {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? "" : value;
}

std::string variable_of(std::string_view setting) {
    std::string name = "ROCKLOCK_";
    for (const char letter : setting) {
        name += letter == '-' ? '_' : static_cast<char>(letter - ('a' - 'A'));
    }
    return name;
}

std::string trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) return "";
    return std::string(text.substr(first, text.find_last_not_of(" \t\r") - first + 1));
}

}  // namespace

Result<Settings> Settings::load(const Arguments& arguments) {
    Settings settings;
    settings.flags_ = {arguments.options.begin(), arguments.options.end()};
    settings.file_name_ = environment("ROCKLOCK_CONFIG");
    const bool named = !settings.file_name_.empty();
    if (!named) settings.file_name_ = "/etc/rocklock.conf";
    std::ifstream file(settings.file_name_);
    const int reason = errno;
    if (!file && (named || reason != ENOENT)) {
        return Error(
            ErrorCode::invalid_argument,
            "cannot read the settings in " + settings.file_name_ + ": " + std::strerror(reason));
    }
    std::string line;
    for (int number = 1; std::getline(file, line); ++number) {
        const auto text = trimmed(std::string_view(line).substr(0, line.find('#')));
        if (text.empty()) continue;
        const auto equals = text.find('=');
        const auto name = trimmed(std::string_view(text).substr(0, equals));
        if (equals == std::string::npos || !is_known(name)) {
            std::string known;
            for (const auto setting : known_settings) known += " " + std::string(setting);
            for (const auto setting : file_settings) known += " " + std::string(setting);
            return Error(ErrorCode::invalid_argument,
                         settings.file_name_ + " line " + std::to_string(number) +
                             ": write NAME = VALUE, with one of these names:" + known);
        }
        settings.file_[name] = trimmed(std::string_view(text).substr(equals + 1));
    }
    // The file can be opened but not read, for example because it is a directory.
    if (file.bad()) {
        return Error(ErrorCode::invalid_argument,
                     "cannot read the settings in " + settings.file_name_ + ": it is not a file");
    }
    return settings;
}

Setting Settings::get(std::string_view name, std::string_view default_value) const {
    if (const auto flag = flags_.find(name); flag != flags_.end()) {
        return {flag->second, "the command line"};
    }
    const auto variable = variable_of(name);
    if (auto value = environment(variable); !value.empty()) return {std::move(value), variable};
    if (const auto line = file_.find(name); line != file_.end()) {
        return {line->second, file_name_};
    }
    return {std::string(default_value), "default"};
}

std::optional<Setting> Settings::in_file(std::string_view name) const {
    const auto line = file_.find(name);
    if (line == file_.end() || line->second.empty()) return std::nullopt;
    return Setting{line->second, file_name_};
}

Result<std::chrono::milliseconds> Settings::duration(std::string_view name,
                                                     std::string_view default_value) const {
    const auto setting = get(name, default_value);
    const auto duration = parse_duration(setting.value);
    if (duration) return *duration;
    return Error(ErrorCode::invalid_argument,
                 std::string(name) + " (from " + setting.source + ") is '" + setting.value +
                     "'; write whole numbers with units, as in 500ms, 10s, 1m30s or 2h, up to "
                     "10,000 years");
}

Result<std::int64_t> Settings::number(std::string_view name, std::string_view default_value,
                                      Range range) const {
    const auto setting = get(name, default_value);
    const auto& text = setting.value;
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc{} && end == text.data() + text.size() && !text.empty() &&
        value >= range.min && value <= range.max) {
        return value;
    }
    return Error(ErrorCode::invalid_argument,
                 std::string(name) + " (from " + setting.source + ") is '" + text +
                     "'; write a whole number from " + std::to_string(range.min) + " to " +
                     std::to_string(range.max));
}

Result<std::uint32_t> Settings::percent(std::string_view name,
                                        std::string_view default_value) const {
    const auto setting = get(name, default_value);
    std::string_view text = setting.value;
    if (text.ends_with('%')) text.remove_suffix(1);
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc{} && end == text.data() + text.size() && value <= 100) return value;
    return Error(ErrorCode::invalid_argument,
                 std::string(name) + " (from " + setting.source + ") is '" + setting.value +
                     "'; write a whole number from 0 to 100, as in 5%");
}

Result<std::optional<std::chrono::milliseconds>> Settings::optional_duration(
    std::string_view name) const {
    if (get(name, "").source == "default") return std::optional<std::chrono::milliseconds>();
    const auto found = duration(name, "");
    if (!found) return found.error();
    return std::optional(*found);
}

Result<std::optional<std::chrono::milliseconds>> Settings::optional_lease() const {
    if (get("lease", "").value == "none") return std::optional(no_expiry);
    auto lease = optional_duration("lease");
    if (lease) return lease;
    auto error = std::move(lease).error();
    error.message += ", or none";
    return error;
}

Result<std::chrono::milliseconds> Settings::lease() const {
    auto lease = optional_lease();
    if (!lease) return std::move(lease).error();
    return lease->value_or(limits::lease_default);
}

Result<std::chrono::milliseconds> Settings::patience(std::string_view default_value) const {
    if (flags_.contains("no-wait")) return std::chrono::milliseconds{0};
    if (get("patience", default_value).value == "forever") return no_limit;
    auto patience = duration("patience", default_value);
    if (patience) return patience;
    auto error = std::move(patience).error();
    error.message += ", or forever";
    return error;
}

Result<std::string> Settings::choice(std::string_view name, std::string_view default_value,
                                     const std::vector<std::string_view>& words) const {
    auto setting = get(name, default_value);
    if (std::find(words.begin(), words.end(), setting.value) != words.end()) return setting.value;
    std::string allowed;
    for (const auto allowed_word : words) {
        allowed += (allowed.empty() ? "" : ", ") + std::string(allowed_word);
    }
    return Error(ErrorCode::invalid_argument, std::string(name) + " (from " + setting.source +
                                                  ") is '" + setting.value +
                                                  "'; it can be one of " + allowed);
}

std::vector<std::string> setting_variables() {
    std::vector<std::string> names;
    for (const auto setting : known_settings) names.push_back(variable_of(setting));
    std::sort(names.begin(), names.end());
    return names;
}

std::string join_path(std::string directory, std::string_view name) {
    while (directory.ends_with('/')) directory.pop_back();
    return directory.append("/").append(name);
}

std::string absolute_path(std::string path) {
    if (path.empty() || path.front() == '/') return path;
    while (path.starts_with("./")) path.erase(0, 2);
    std::error_code gone;
    const auto here = std::filesystem::current_path(gone);
    return gone ? path : join_path(here.string(), path);
}

Result<void> check_socket_path(const std::string& path) {
    const auto address = unix_address(path);
    if (address) return {};
    auto error = address.error();
    error.message += "; name a shorter one with --socket or ROCKLOCK_SOCKET";
    return error;
}

Result<void> make_directories(const std::string& path) {
    for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
        const auto part = path.substr(0, slash);
        if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) {
            const std::string text = "cannot make " + part + ": " + std::strerror(errno);
            if (errno == EACCES || errno == EPERM || errno == EROFS) {
                return Error(ErrorCode::read_only,
                             text + "; let this user write there, or name another place");
            }
            if (errno == ENOTDIR) {
                return Error(ErrorCode::invalid_argument, text + "; name another place");
            }
            return Error(ErrorCode::io_error, text);
        }
        if (slash == std::string::npos) return {};
    }
}

}  // namespace rocklock
