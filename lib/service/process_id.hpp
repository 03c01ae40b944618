// Processes and their users. A process is identified by its pid and its start time, so that a later
// process with the same pid is not mistaken for it.
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

// Returns the login name of a user, or nullopt if the user has none or the lookup fails. The lookup
// may wait for a directory service.
std::optional<std::string> find_user_name(uid_t uid);
// Returns the text "uid 1234", for a user without a name.
std::string user_name_without_entry(uid_t uid);
// Returns find_user_name() or, if there is no name, user_name_without_entry().
std::string user_name(uid_t uid);

}  // namespace rocklock
