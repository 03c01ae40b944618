// The group of administrators.
#pragma once

#include <sys/types.h>

#include <string>

#include <rocklock/result.hpp>

namespace rocklock {

// Returns the group with this name or number. Errors: invalid_argument if there is no such group.
Result<gid_t> find_group(const std::string& name);

// Returns true if the process that connected this Unix socket was a member of the group when it
// connected. `group` can be its primary group or a supplementary group. If the kernel does not
// report supplementary groups, this function looks up the current ones in the user database.
bool peer_is_member(int socket, gid_t group);

}  // namespace rocklock
