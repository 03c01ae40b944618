// What the program's exit status tells a script.
#pragma once

#include <rocklock/error.hpp>

namespace rocklock::exit_status {

inline constexpr int done = 0;
inline constexpr int usage = 64;
inline constexpr int unreachable = 69;
inline constexpr int internal = 70;
// Held by others, or waited in vain: try again later.
inline constexpr int busy = 75;
// The lock was lost, or had ended already.
inline constexpr int lost = 76;
inline constexpr int not_allowed = 77;
inline constexpr int cannot_run = 126;
inline constexpr int not_found = 127;
// Plus the number of the signal.
inline constexpr int signalled = 128;

int of(const Error& error);

}  // namespace rocklock::exit_status
