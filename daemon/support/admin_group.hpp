// The group of administrators.
#pragma once

#include <sys/types.h>

#include <string>

#include <rocklock/result.hpp>

namespace rocklock {

// Returns the group with this name or number. Errors: invalid_argument if it does not exist.
Result<gid_t> find_group(const std::string& name);

// Returns true if the process that connected this Unix socket was in the group at that time: by its
// primary group or a supplementary one, as reported by the kernel.
bool peer_is_member(int socket, gid_t group);

}  // namespace rocklock
