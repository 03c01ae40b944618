// Selects the lock manager that a client uses, and the directory of a user's private daemon.
//
// Two programs that lock the same resource exclude each other only if they use the same manager.
// Therefore the choice depends on the configuration of the machine and on the uid. It does not
// depend on environment variables other than ROCKLOCK_SOCKET, or on which sockets exist:
//
//     --socket or ROCKLOCK_SOCKET ──────────────────► that socket, an explicit exception
//     `socket` in the configuration file ───────────► the system manager on that socket
//     rocklock.socket or rocklock.service installed ► the system manager on the unit's socket
//     otherwise ────────────────────────────────────► the private daemon of this uid
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <rocklock/result.hpp>

#include "daemon/cli/settings.hpp"

namespace rocklock {

enum class ManagerKind : std::uint8_t {
    // Named by --socket or ROCKLOCK_SOCKET.
    named,
    // Configured for all users of the machine.
    system,
    // The daemon of one uid. Clients of that uid start it.
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
// Errors: invalid_argument if `manager` or `private-directory` in the configuration file is
//         invalid, or if there is no place for a private daemon; see private_directory()
Result<ManagerChoice> choose_manager(const Settings& settings,
                                     const std::vector<std::string>& units = unit_directories());

// Returns the directory of the store, the socket and the log of this uid's private daemon:
// .local/state/rocklock in the home directory that the password database names, or the
// subdirectory with the number of the uid in the configured `private-directory`.
//
// Errors: invalid_argument if the uid has no home directory, or if the setting is not an absolute
//         path
Result<std::string> private_directory(const Settings& settings);

// Earlier versions kept the store of a private daemon in a directory that XDG_STATE_HOME or HOME
// determined. If there is such a store outside of `directory`, returns a message that names it and
// the command that moves it to `directory`. Otherwise returns an empty string.
std::string unused_store_notice(const std::string& directory);

// Return the socket and the store of a daemon: the one in the settings, the one of the systemd
// unit, or the one in the directory of the private daemon.
//
// Errors: as private_directory(), which is called only in the last case
Result<Setting> server_socket(const Settings& settings);
Result<Setting> server_store(const Settings& settings);

}  // namespace rocklock
