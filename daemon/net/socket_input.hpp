// Functions for reading from nonblocking sockets.
#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <memory>

namespace rocklock {

inline constexpr std::size_t read_bytes = 64u << 10;

// Returns a buffer for one read. There is one buffer per thread rather than per connection, because
// most connections have no input to read. It is allocated at the first call, because each new
// thread clears all memory that is thread-local.
inline std::array<char, read_bytes>& read_buffer() {
    thread_local const auto buffer = std::make_unique_for_overwrite<std::array<char, read_bytes>>();
    return *buffer;
}

// Returns whether the last call on a nonblocking socket failed because it would have waited, or
// because a signal interrupted it.
inline bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace rocklock
