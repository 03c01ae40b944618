// Selects the lock manager that a client uses, and the directory of a user's private daemon.
//
// Two programs that lock the same resource exclude each other only if they use the same manager.
// Therefore, the choice depends on the configuration of the machine and on the uid, but not on
// which sockets exist. ROCKLOCK_SOCKET is the only environment variable that affects the choice:
//
//     --socket or ROCKLOCK_SOCKET ──────────────────► that socket, an explicit exception
//     `manager = private` in the configuration file ► the private daemon of this uid
//     `socket` in the configuration file ───────────► the system manager on that socket
//     rocklock.socket or rocklock.service installed ► the system manager on the unit's socket
//     otherwise ────────────────────────────────────► the private daemon of this uid
//
// The first line that applies determines the manager.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <rocklock/result.hpp>

#include "daemon/cli/settings.hpp"

namespace rocklock {

enum class ManagerKind : std::uint8_t {
    // Named by --socket or ROCKLOCK_SOCKET. If they name the socket of the private daemon that
    // would be chosen without them, the kind is `own`.
    named,
    // Configured for all users of the machine.
    system,
    // The private daemon of one uid. Clients of that uid start it.
    own,
};

struct ManagerChoice {
    ManagerKind kind = ManagerKind::own;
    // An absolute path.
    std::string socket;
    // The reason for the choice, such as "socket in /etc/rocklock.conf".
    std::string reason;
};

// Returns the directories in which systemd searches for units, in the order of precedence.
std::vector<std::string> unit_directories();

// Returns the manager that clients use. A unit counts as installed unless it is masked, that is,
// empty or a link to /dev/null.
//
// Errors: invalid_argument, unless --socket or ROCKLOCK_SOCKET is set: `manager` in the
//         configuration file is invalid or contradicts `socket`, or private_directory() fails
Result<ManagerChoice> choose_manager(const Settings& settings,
                                     const std::vector<std::string>& units = unit_directories());

// Returns the directory of the store, the socket and the log of this uid's private daemon. If
// `private-directory` is configured, returns the subdirectory of it that is named after the uid.
// Otherwise, returns .local/state/rocklock in the home directory that the password database has for
// the uid.
//
// Errors: invalid_argument if the uid has no home directory, or if the setting is not an absolute
//         path
Result<std::string> private_directory(const Settings& settings);

// Earlier versions kept the store of a private daemon in a directory that XDG_STATE_HOME or HOME
// determined. If there is a store in such a directory, and it is not `directory`, returns a message
// that names the store and the command that moves it to `directory`. Otherwise, returns an empty
// string.
std::string unused_store_notice(const std::string& directory);

// Return the path of the socket, and the directory of the store, of a daemon. The first of these
// sources that exists is used: the settings; the directory that systemd has created for the unit
// (RUNTIME_DIRECTORY or STATE_DIRECTORY); private_directory().
//
// Errors: as private_directory(), which is called only in the last case
Result<Setting> server_socket(const Settings& settings);
Result<Setting> server_store(const Settings& settings);

}  // namespace rocklock
