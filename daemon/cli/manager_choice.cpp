#include "daemon/cli/manager_choice.hpp"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "daemon/cli/messages.hpp"

namespace rocklock {
namespace {

namespace fs = std::filesystem;

// The socket of the installed unit, unless it was changed with `systemctl edit`.
constexpr std::string_view unit_socket = "/run/rocklock/rocklock.sock";
constexpr std::string_view socket_name = "/rocklock.sock";

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

// Returns the home directory of the real uid, or an empty string if it has none.
std::string home_directory() {
    std::array<char, 4096> memory{};
    passwd entry{};
    passwd* found = nullptr;
    if (::getpwuid_r(::getuid(), &entry, memory.data(), memory.size(), &found) == 0 &&
        found != nullptr && found->pw_dir != nullptr) {
        return found->pw_dir;
    }
    return "";
}

// Returns the file of a unit, or an empty string if the unit is not installed or masked.
std::string find_unit(const std::vector<std::string>& directories, std::string_view name) {
    for (const auto& directory : directories) {
        const auto path = join_path(directory, name);
        std::error_code failed;
        if (!fs::exists(path, failed)) continue;
        const bool masked = !fs::is_regular_file(path, failed) || fs::file_size(path, failed) == 0;
        return masked ? "" : path;
    }
    return "";
}

// Appends the Unix sockets that ListenStream= in this file names to `sockets`. As in systemd, an
// empty value removes the earlier ones.
void read_sockets(const std::string& path, std::vector<std::string>& sockets) {
    std::ifstream file(path);
    constexpr std::string_view name = "ListenStream=";
    for (std::string line; std::getline(file, line);) {
        if (!line.starts_with(name)) continue;
        auto value = line.substr(name.size());
        while (!value.empty() && (value.back() == ' ' || value.back() == '\r')) value.pop_back();
        if (value.empty()) sockets.clear();
        if (value.starts_with('/')) sockets.push_back(std::move(value));
    }
}

// Returns the first socket of the unit and its drop-ins.
std::string socket_of_unit(const std::vector<std::string>& directories, const std::string& unit) {
    std::vector<std::string> sockets;
    if (!unit.empty()) read_sockets(unit, sockets);
    // Drop-ins are applied in the order of their names; of two with the same name, the one in the
    // directory with the higher precedence counts.
    std::vector<fs::path> drop_ins;
    for (const auto& directory : directories) {
        std::error_code failed;
        for (const auto& file :
             fs::directory_iterator(join_path(directory, "rocklock.socket.d"), failed)) {
            const auto& path = file.path();
            const auto same = [&](const fs::path& other) {
                return other.filename() == path.filename();
            };
            if (path.extension() == ".conf" &&
                std::none_of(drop_ins.begin(), drop_ins.end(), same)) {
                drop_ins.push_back(path);
            }
        }
    }
    std::sort(drop_ins.begin(), drop_ins.end(),
              [](const fs::path& a, const fs::path& b) { return a.filename() < b.filename(); });
    for (const auto& path : drop_ins) read_sockets(path.string(), sockets);
    return sockets.empty() ? std::string(unit_socket) : sockets.front();
}

// Returns the manager for a client without --socket and ROCKLOCK_SOCKET.
Result<ManagerChoice> configured_manager(const Settings& settings,
                                         const std::vector<std::string>& units) {
    const auto socket = settings.in_file("socket");
    const auto manager = settings.in_file("manager");
    if (manager && manager->value != "auto" && manager->value != "private") {
        return Error(ErrorCode::invalid_argument, "manager (from " + manager->source + ") is '" +
                                                      manager->value +
                                                      "'; it can be one of auto, private");
    }
    const bool only_private = manager && manager->value == "private";
    if (only_private && socket) {
        return Error(ErrorCode::invalid_argument,
                     "manager = private and socket = " + socket->value +
                         " exclude each other: "
                         "delete one of them from " +
                         manager->source);
    }
    if (socket) {
        return ManagerChoice{ManagerKind::system, absolute_path(socket->value),
                             "socket in " + socket->source};
    }
    if (!only_private) {
        const auto unit = find_unit(units, "rocklock.socket");
        const auto service = unit.empty() ? find_unit(units, "rocklock.service") : unit;
        if (!service.empty()) {
            return ManagerChoice{ManagerKind::system, socket_of_unit(units, unit),
                                 "the unit " + service + " is installed"};
        }
    }
    auto directory = private_directory(settings);
    if (!directory) return std::move(directory).error();
    return ManagerChoice{ManagerKind::own, directory->append(socket_name),
                         only_private ? "manager = private in " + manager->source
                                      : "no system manager is configured"};
}

// Returns the first of the directories in a variable that systemd sets for a unit.
std::string unit_directory(const char* variable) {
    const auto value = environment(variable);
    return value.substr(0, value.find(':'));
}

// Returns an error if a user other than root and this one could replace the directories of private
// daemons, and so pretend to be the manager of another user. A directory that does not exist is
// created by `run` and others.
Result<void> check_shared_directory(const Setting& configured) {
    struct stat status {};
    const auto& path = configured.value;
    if (::stat(path.c_str(), &status) != 0) return {};
    const auto subject =
        "private-directory (from " + configured.source + ") is " + path + ", which ";
    if (status.st_uid != 0 && status.st_uid != ::getuid()) {
        return Error(
            ErrorCode::access_denied,
            subject + "belongs to uid " + std::to_string(status.st_uid) +
                ", who could replace the private daemons of other users: run `chown root " + path +
                "`, or set another directory");
    }
    const bool open_to_others = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
    if (open_to_others && (status.st_mode & S_ISVTX) == 0) {
        return Error(ErrorCode::access_denied,
                     subject +
                         "other users can write to without the sticky bit, so that they could "
                         "replace the private daemons of others: run `chmod +t " +
                         path + "`, or set another directory");
    }
    return {};
}

// Returns an error if the directory of this user's private daemon belongs to another user.
Result<void> check_own_directory(const std::string& path) {
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) return {};
    if (S_ISDIR(status.st_mode) && status.st_uid == ::getuid()) return {};
    return Error(ErrorCode::access_denied,
                 path + ", the directory of your private daemon, " +
                     (S_ISDIR(status.st_mode) ? "belongs to uid " + std::to_string(status.st_uid)
                                              : std::string("is not a directory")) +
                     ", so that another user may pretend to be your daemon: let an administrator "
                     "remove it");
}

}  // namespace

std::vector<std::string> unit_directories() {
    return {"/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system",
            "/usr/lib/systemd/system", "/lib/systemd/system"};
}

Result<ManagerChoice> choose_manager(const Settings& settings,
                                     const std::vector<std::string>& units) {
    auto configured = configured_manager(settings, units);
    const auto named = settings.get("socket", "");
    const bool overridden = !named.value.empty() && !settings.is_file(named.source);
    if (!overridden) return configured;
    ManagerChoice choice{ManagerKind::named, absolute_path(named.value),
                         "socket from " + named.source};
    // A `run` inside a `run` gets the socket from its environment.
    if (configured && configured->kind == ManagerKind::own && configured->socket == choice.socket) {
        choice.kind = ManagerKind::own;
    }
    return choice;
}

Result<std::string> private_directory(const Settings& settings) {
    const auto uid = std::to_string(::getuid());
    if (const auto configured = settings.in_file("private-directory")) {
        if (!configured->value.starts_with('/')) {
            return Error(ErrorCode::invalid_argument,
                         "private-directory (from " + configured->source + ") is '" +
                             configured->value + "'; it must begin with /");
        }
        if (auto checked = check_shared_directory(*configured); !checked) return checked.error();
        auto directory = join_path(configured->value, uid);
        if (auto checked = check_own_directory(directory); !checked) return checked.error();
        return directory;
    }
    auto home = home_directory();
    if (!home.starts_with('/')) {
        return Error(ErrorCode::invalid_argument,
                     "uid " + uid +
                         " has no home directory in the password database, so there is no place "
                         "for a private daemon; name a daemon with --socket or ROCKLOCK_SOCKET, or "
                         "set private-directory in the configuration file");
    }
    return join_path(std::move(home), ".local/state/rocklock");
}

std::string unused_store_notice(const std::string& directory) {
    std::vector<std::pair<const char*, std::string>> earlier;
    if (auto state = environment("XDG_STATE_HOME"); state.starts_with('/')) {
        earlier.emplace_back("XDG_STATE_HOME", join_path(std::move(state), "rocklock"));
    }
    if (auto home = environment("HOME"); home.starts_with('/')) {
        earlier.emplace_back("HOME", join_path(std::move(home), ".local/state/rocklock"));
    }
    for (const auto& [variable, old] : earlier) {
        std::error_code failed;
        if (!fs::is_directory(old + "/db", failed) || fs::equivalent(old, directory, failed)) {
            continue;
        }
        const auto store = directory + "/db";
        std::string text = "the store in ";
        text.append(old).append("/db is not used: the store of a private daemon is in ");
        text.append(directory).append(" and does not depend on ").append(variable);
        text +=
            ". To move it, end both daemons (the file rocklock.sock.lock beside each store "
            "contains "
            "the pid) ";
        text.append("and run: mv ").append(shell_quoted(store)).append(" ");
        text.append(shell_quoted(store + ".unused")).append("; mv ");
        text.append(shell_quoted(old + "/db")).append(" ").append(shell_quoted(store));
        return text;
    }
    return "";
}

Result<Setting> server_socket(const Settings& settings) {
    auto setting = settings.get("socket", "");
    setting.value = absolute_path(std::move(setting.value));
    if (!setting.value.empty()) return setting;
    const auto runtime = unit_directory("RUNTIME_DIRECTORY");
    if (!runtime.empty()) return Setting{runtime + std::string(socket_name), "RUNTIME_DIRECTORY"};
    auto directory = private_directory(settings);
    if (!directory) return std::move(directory).error();
    return Setting{directory->append(socket_name), "default"};
}

Result<Setting> server_store(const Settings& settings) {
    auto setting = settings.get("db", "");
    setting.value = absolute_path(std::move(setting.value));
    if (!setting.value.empty()) return setting;
    const auto state = unit_directory("STATE_DIRECTORY");
    if (!state.empty()) return Setting{state + "/db", "STATE_DIRECTORY"};
    auto directory = private_directory(settings);
    if (!directory) return std::move(directory).error();
    return Setting{directory->append("/db"), "default"};
}

}  // namespace rocklock
