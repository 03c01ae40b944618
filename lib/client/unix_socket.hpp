// Unix sockets, as the kernel wants them.
#pragma once

#include <sys/un.h>

#include <chrono>
#include <optional>
#include <string>

#include <rocklock/result.hpp>

namespace rocklock {

// Before a daemon that has too many connections is tried again.
inline constexpr std::chrono::milliseconds crowded_pause{100};

// Errors: invalid_argument: the path is empty or too long for a socket.
Result<sockaddr_un> unix_address(const std::string& path);

// Connects; the caller closes it. -1 with errno set when nobody listens there; EAGAIN when whoever
// does takes no connections until `deadline`.
int connect_unix(const std::string& path,
                 std::optional<std::chrono::steady_clock::time_point> deadline = {});

}  // namespace rocklock
