// Starts the private daemon of this user if no process listens on its socket.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include <rocklock/result.hpp>

namespace rocklock {

enum class Start : std::uint8_t { started, was_running };

// Starts a daemon on `directory`/rocklock.sock, unless a process listens there, and returns when it
// is ready. Creates `directory` if needed. The daemon exits when it has had neither sessions nor
// requests for `idle_exit`. If several processes call this function at the same time, a lock file
// ensures that only one of them starts a daemon. The other processes wait until that daemon is
// ready.
//
// The daemon is not a child of the caller. It runs in a process session of its own, with the
// current directory `/`, and without the descriptors and the signal mask of the caller. Its store
// and its log are in `directory`, regardless of environment variables.
//
// Errors: unreachable   the daemon could not be started, or was not ready after one minute. If the
//                       daemon has reported a reason, the error contains the reason
//         read_only     `directory` is not writable
//         and those of make_directories()
Result<Start> start_daemon(const std::string& directory, std::chrono::milliseconds idle_exit);

}  // namespace rocklock
