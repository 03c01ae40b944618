#include "client/unix_socket.hpp"

#include <sys/socket.h>
#include <sys/time.h>
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

namespace {

// Limits the time for which connect() waits for space in the listener's queue.
void bound_connect(int fd, std::chrono::steady_clock::time_point deadline) {
    using std::chrono::microseconds;
    const auto left =
        std::max(std::chrono::ceil<microseconds>(deadline - std::chrono::steady_clock::now()),
                 microseconds{1});
    const auto whole = std::chrono::floor<std::chrono::seconds>(left);
    const timeval time{static_cast<time_t>(whole.count()),
                       static_cast<suseconds_t>((left - whole).count())};
    ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
}

}  // namespace

int connect_unix(const std::string& path,
                 std::optional<std::chrono::steady_clock::time_point> deadline) {
    const auto address = unix_address(path);
    if (!address) {
        errno = ENAMETOOLONG;
        return -1;
    }
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    // connect() waits while the listener's queue is full.
    if (deadline) bound_connect(fd, *deadline);
    while (::connect(fd, reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0) {
        if (errno == EINTR) continue;
        const int reason = errno;
        ::close(fd);
        errno = reason;
        return -1;
    }
    return fd;
}

bool is_listening(const std::string& path) {
    const int connected = connect_unix(path, std::chrono::steady_clock::now());
    // The queue of a listening socket can be full.
    if (connected < 0) return errno == EAGAIN;
    ::close(connected);
    return true;
}

}  // namespace rocklock
