// Starts this user's daemon when nobody listens.
#pragma once

#include <chrono>
#include <string>

#include <rocklock/result.hpp>

namespace rocklock {

// Returns when a daemon listens on `socket`, started by us or by somebody else at the same time: a
// lock file lets one of a hundred start it, and the others find it listening.
//
// The daemon is nobody's child, in a session of its own, in the directory `/`, without any
// descriptor or signal mask of ours; what it has to say goes to a log file beside the socket.
//
// Errors: unreachable, with the daemon's own words where it could say why.
Result<void> start_daemon(const std::string& socket, std::chrono::milliseconds idle_exit);

}  // namespace rocklock
