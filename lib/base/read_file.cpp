#include "base/read_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace rocklock {

std::optional<std::string> read_file(const std::string& path, std::size_t max_size) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return std::nullopt;
    std::string text;
    std::array<char, 4096> buffer;
    ssize_t size = 1;
    while (size > 0 && text.size() < max_size) {
        size = ::read(file, buffer.data(), std::min(buffer.size(), max_size - text.size()));
        if (size < 0 && errno == EINTR) {
            size = 1;
        } else if (size > 0) {
            text.append(buffer.data(), static_cast<std::size_t>(size));
        }
    }
    const int failure = errno;
    ::close(file);
    errno = failure;
    if (size < 0) return std::nullopt;
    return text;
}

}  // namespace rocklock
