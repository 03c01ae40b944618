// Processes by number and start time, so that a number used again is not taken for the same one;
// and whose they are.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include <rocklock/lock.hpp>

namespace rocklock {

// The process with that number, as it is now; nothing when there is none.
std::optional<ProcessId> find_process(pid_t pid);

// Whether a process with that number and start time is there and has not ended. One that waits only
// for its parent to ask for its status has ended.
bool is_running(const ProcessId& process);

// The user it belongs to; nothing when there is no such process.
std::optional<uid_t> owner_of(pid_t pid);

// The login name of a user; "uid 1234" for one without.
std::string user_name(uid_t uid);

}  // namespace rocklock
