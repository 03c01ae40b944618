// Processes, which are identified by pid and start time, so that a later process with the same pid
// is not mistaken for the first one; and the users of processes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include <rocklock/lock.hpp>

namespace rocklock {

// Returns the process that has this pid now, or nullopt if there is none.
std::optional<ProcessId> find_process(pid_t pid);

// Returns true if a process with this pid and start time exists and has not ended. A zombie has
// ended.
bool is_running(const ProcessId& process);

// Returns the user of the process, or nullopt if the process does not exist.
std::optional<uid_t> owner_of(pid_t pid);

// Returns the login name of a user, or "uid 1234" if the user has none.
std::string user_name(uid_t uid);

}  // namespace rocklock
