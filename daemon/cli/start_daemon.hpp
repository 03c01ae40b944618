// Starts the private daemon of this user if no process listens on its socket.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include <rocklock/result.hpp>

namespace rocklock {

enum class Start : std::uint8_t { started, was_running };

// Returns when a daemon listens on `directory`/rocklock.sock. If several processes call it at the
// same time, a lock file ensures that only one of them starts a daemon; the others wait for this
// daemon.
//
// The daemon is not a child of the caller. It runs in its own session, in the directory `/`,
// without the descriptors and the signal mask of the caller. Its store and its log are in
// `directory`; environment variables cannot change that.
//
// Errors: unreachable   the daemon could not be started; if it has written a message, the error
//                       contains the message
//         read_only     `directory` is not writable
Result<Start> start_daemon(const std::string& directory, std::chrono::milliseconds idle_exit);

}  // namespace rocklock
