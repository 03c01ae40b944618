// Functions for Unix sockets.
#pragma once

#include <sys/un.h>

#include <chrono>
#include <optional>
#include <string>

#include <rocklock/result.hpp>

namespace rocklock {

// If the daemon's connection limit is reached, the time to wait before the next attempt.
inline constexpr std::chrono::milliseconds overload_pause{100};

// Returns the address of a path. Errors: invalid_argument if the path is empty or too long.
Result<sockaddr_un> unix_address(const std::string& path);

// Connects and returns a descriptor that the caller must close. After an error, returns -1 and sets
// errno; EAGAIN means that the queue of the listening socket was still full at `deadline`.
int connect_unix(const std::string& path,
                 std::optional<std::chrono::steady_clock::time_point> deadline = {});

// Returns whether a process listens on the socket. Connects to it and closes the connection.
bool is_listening(const std::string& path);

}  // namespace rocklock
