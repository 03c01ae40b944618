// A group of users who may administer.
#pragma once

#include <sys/types.h>

#include <string>

#include <rocklock/result.hpp>

namespace rocklock {

// By its name or number. Errors: invalid_argument, for one that there is not.
Result<gid_t> find_group(const std::string& name);

// Whether the process that connected this Unix socket was in the group then, as the kernel says: by
// its own group or one of its supplementary ones.
bool peer_is_member(int socket, gid_t group);

}  // namespace rocklock
