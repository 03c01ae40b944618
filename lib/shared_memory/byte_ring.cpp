#include "shared_memory/byte_ring.hpp"

#include <algorithm>
#include <cerrno>

namespace rocklock {

ssize_t RingWriter::write(std::string_view bytes) {
    const auto unread = written_ - positions_.read.load();
    if (unread > space_.size()) {
        errno = EPROTO;
        return -1;
    }
    const auto size = std::min<std::size_t>(bytes.size(), space_.size() - unread);
    if (size == 0) {
        errno = EAGAIN;
        return -1;
    }
    if (unread == 0) positions_.start.store(start_ = written_, std::memory_order_relaxed);
    const auto at = (written_ - start_) & (space_.size() - 1);
    const auto first = std::min<std::size_t>(size, space_.size() - at);
    std::copy_n(bytes.begin(), first, space_.begin() + static_cast<std::ptrdiff_t>(at));
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(first), size - first, space_.begin());
    written_ += size;
    positions_.written.store(written_);
    return static_cast<ssize_t>(size);
}

std::uint64_t RingWriter::unread() const {
    const auto unread = written_ - positions_.read.load();
    return unread > space_.size() ? written_ : unread;
}

ssize_t RingReader::read(std::span<char> buffer) {
    const auto unread = positions_.written.load() - read_;
    if (unread > space_.size()) {
        errno = EPROTO;
        return -1;
    }
    const auto size = std::min<std::size_t>(buffer.size(), unread);
    if (size == 0) {
        errno = EAGAIN;
        return -1;
    }
    // The writer changes `start` only if it has seen that the queue is empty.
    const auto start = positions_.start.load(std::memory_order_relaxed);
    const auto at = (read_ - start) & (space_.size() - 1);
    const auto first = std::min<std::size_t>(size, space_.size() - at);
    std::copy_n(space_.begin() + static_cast<std::ptrdiff_t>(at), first, buffer.begin());
    std::copy_n(space_.begin(), size - first, buffer.begin() + static_cast<std::ptrdiff_t>(first));
    read_ += size;
    positions_.read.store(read_);
    return static_cast<ssize_t>(size);
}

}  // namespace rocklock
