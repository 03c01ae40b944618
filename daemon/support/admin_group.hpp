// The group of administrators.
#pragma once

#include <sys/types.h>

#include <string>

#include <rocklock/result.hpp>

namespace rocklock {

// Returns the group with this name or number. Errors: invalid_argument if it does not exist.
Result<gid_t> find_group(const std::string& name);

// Returns true if the process that connected this Unix socket was in the group at that time, as its
// primary or a supplementary group. If the kernel does not report supplementary groups, they are
// looked up in the user database now.
bool peer_is_member(int socket, gid_t group);

}  // namespace rocklock
