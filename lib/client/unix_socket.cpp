#include "client/unix_socket.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace rocklock {

Result<sockaddr_un> unix_address(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof address.sun_path ||
        path.find('\0') != std::string::npos) {
        return Error(ErrorCode::invalid_argument, "the path of a socket has 1 to " +
                                                      std::to_string(sizeof address.sun_path - 1) +
                                                      " bytes, not " + std::to_string(path.size()) +
                                                      ": " + path);
    }
    std::copy(path.begin(), path.end(), address.sun_path);
    return address;
}

int connect_unix(const std::string& path) {
    const auto address = unix_address(path);
    if (!address) {
        errno = ENAMETOOLONG;
        return -1;
    }
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    // Waits while the daemon's queue of connections is full.
    while (::connect(fd, reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0) {
        if (errno == EINTR) continue;
        const int reason = errno;
        ::close(fd);
        errno = reason;
        return -1;
    }
    return fd;
}

}  // namespace rocklock
