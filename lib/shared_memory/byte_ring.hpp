// A queue of bytes in memory that two processes share. One process writes to the queue, and the
// other reads from it. Neither trusts the other: each keeps its own position in its own memory, and
// checks the position of the other.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace rocklock {

// The positions of a queue, in shared memory. Memory that consists of zeros is an empty queue.
struct RingPositions {
    // The number of bytes that were written, and the position of the byte at the beginning of the
    // space. Only the writer changes them. If the queue is empty, the writer begins again at the
    // beginning of the space. Short messages therefore always use the same few cache lines.
    alignas(64) std::atomic<std::uint64_t> written;
    std::atomic<std::uint64_t> start;
    // The number of bytes that were read. Only the reader changes it.
    alignas(64) std::atomic<std::uint64_t> read;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// Threads:  one at a time.
// Lifetime: the shared memory must outlive this object. The size of `space` must be a power of two,
//           and the same for the writer and the reader.
class RingWriter {
public:
    RingWriter(RingPositions& positions, std::span<char> space)
        : positions_(positions), space_(space) {}

    // Appends as many bytes as there is space for, and returns their number. Returns -1 and sets
    // errno to EAGAIN if there is no space, or to EPROTO if the position of the reader is invalid.
    ssize_t write(std::string_view bytes);
    // Returns the number of bytes that the reader has not read: 0 if it has read all of them, and
    // all written bytes if its position is invalid.
    std::uint64_t unread() const;
    // Returns true if the reader has read something, and its position is valid.
    bool was_read() const { return written_ > 0 && unread() < written_; }

private:
    RingPositions& positions_;
    const std::span<char> space_;
    std::uint64_t written_ = 0;
    std::uint64_t start_ = 0;
};

// As RingWriter.
class RingReader {
public:
    RingReader(RingPositions& positions, std::span<const char> space)
        : positions_(positions), space_(space) {}

    // Removes as many bytes as fit into `buffer`, and returns their number. Returns -1 and sets
    // errno to EAGAIN if the queue is empty, or to EPROTO if the position of the writer is invalid.
    ssize_t read(std::span<char> buffer);
    bool has_bytes() const { return positions_.written.load() != read_; }

private:
    RingPositions& positions_;
    const std::span<const char> space_;
    std::uint64_t read_ = 0;
};

}  // namespace rocklock
