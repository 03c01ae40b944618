// Finds the lock manager that the program `rocklock` would use, and can start the private daemon of
// this user. The choice of the manager depends on the configuration of the machine. Only the
// program `rocklock` reads the configuration, so that other programs and the command line always
// use the same manager.
#pragma once

#include <chrono>
#include <stop_token>
#include <string>

#include <rocklock/result.hpp>

namespace rocklock {

struct FindManager {
    // The program `rocklock`: a name that is searched for in PATH, or a path.
    std::string program;
    // Whether to start the private daemon of this user if that is the manager and is not running.
    bool start = false;
    // The maximum time to wait for the program.
    std::chrono::milliseconds timeout{};
    // If a stop is requested, the program is ended.
    std::stop_token stop{};
};

struct FoundManager {
    std::string socket;
    // Whether the manager is the private daemon of this user, which its clients start.
    bool is_private = false;
};

// Returns the manager, by running `rocklock status --json`. The call succeeds even if the manager
// is not running, unless `start` is set and the manager is a private daemon. If the call succeeds,
// the messages of the program are written to the error output of this process. If it fails, the
// error contains the messages.
//
// Threads: thread-safe.
// Errors:  unreachable       the program was not found or has not answered in time, or the manager
//                            is not running and cannot be started
//          access_denied     this user may not connect to the manager
//          invalid_argument  the program, or the configuration, is invalid
Result<FoundManager> find_manager(const FindManager& request);

}  // namespace rocklock
