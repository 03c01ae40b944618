// Starts a daemon of this user if no process listens on the socket.
#pragma once

#include <chrono>
#include <string>

#include <rocklock/result.hpp>

namespace rocklock {

// Returns when a daemon listens on `socket`. If several processes call it at the same time, a lock
// file ensures that only one starts a daemon; the others find it listening.
//
// The daemon is not a child of the caller. It runs in its own session, in the directory `/`,
// without the descriptors and the signal mask of the caller. Its output goes to daemon.log in
// user_directory().
//
// Errors: unreachable   the daemon could not be started; with its own message if it wrote one
//         read_only     the directory of the user is not writable
Result<void> start_daemon(const std::string& socket, std::chrono::milliseconds idle_exit);

}  // namespace rocklock
