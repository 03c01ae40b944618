// The exit statuses of the program.
#pragma once

#include <rocklock/error.hpp>

namespace rocklock::exit_status {

inline constexpr int done = 0;
inline constexpr int usage = 64;
inline constexpr int unreachable = 69;
inline constexpr int internal = 70;
// Another session holds the lock, or the wait timeout has expired. A retry can succeed.
inline constexpr int busy = 75;
// The lock was lost while it was needed, or had already ended.
inline constexpr int lost = 76;
inline constexpr int not_allowed = 77;
inline constexpr int cannot_run = 126;
inline constexpr int not_found = 127;
// If a signal ended the command, the exit status is this value plus the number of the signal.
inline constexpr int signalled = 128;

// Returns the exit status for the error.
int of(const Error& error);

}  // namespace rocklock::exit_status
