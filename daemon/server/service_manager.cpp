#include "daemon/server/service_manager.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "daemon/support/http_listener.hpp"

namespace rocklock {
namespace {

constexpr int first_socket = 3;

// Returns a variable and removes it from the environment; empty if it is not set.
std::string take_variable(const char* name) {
    const char* value = std::getenv(name);
    std::string text = value == nullptr ? "" : value;
    ::unsetenv(name);
    return text;
}

std::int64_t number_in(const std::string& text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc{} && end == text.data() + text.size() ? number : 0;
}

// Returns true if the pid in a variable is empty or that of this process.
bool is_for_us(const std::string& pid) { return pid.empty() || number_in(pid) == ::getpid(); }

Error unusable(int socket, const std::string& why) {
    return {ErrorCode::invalid_argument,
            "the socket that the service manager passed as descriptor " + std::to_string(socket) +
                " " + why};
}

Result<Listener> take_over(int socket) {
    Listener owner(socket, false, "");
    ::fcntl(socket, F_SETFD, FD_CLOEXEC);
    int listens = 0;
    int type = 0;
    socklen_t size = sizeof listens;
    if (::getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0) {
        return unusable(socket, "does not listen");
    }
    size = sizeof type;
    if (::getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM) {
        return unusable(socket, "is not a stream socket: use ListenStream");
    }
    const int flags = ::fcntl(socket, F_GETFL);
    ::fcntl(socket, F_SETFL, flags | O_NONBLOCK);
    sockaddr_un address{};
    size = sizeof address;
    if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
        return unusable(socket, std::string("has no address: ") + std::strerror(errno));
    }
    if (address.sun_family != AF_UNIX) return adopt_tcp(owner.take_socket());
    const auto length = std::min<std::size_t>(size, sizeof address);
    const auto start = offsetof(sockaddr_un, sun_path);
    std::string path(address.sun_path, length > start ? length - start : 0);
    // An abstract name begins with NUL, which is shown as '@'. A path ends at the first NUL.
    if (!path.empty() && path.front() == '\0') path.front() = '@';
    path.resize(std::min(path.size(), path.find('\0')));
    return Listener(owner.take_socket(), false, path);
}

}  // namespace

ServiceManager::ServiceManager() : notify_socket_(take_variable("NOTIFY_SOCKET")) {
    const auto watchdog = number_in(take_variable("WATCHDOG_USEC"));
    if (is_for_us(take_variable("WATCHDOG_PID")) && watchdog > 0) {
        watchdog_ = std::chrono::microseconds{watchdog};
    }
    const auto sockets = number_in(take_variable("LISTEN_FDS"));
    const auto pid = take_variable("LISTEN_PID");
    take_variable("LISTEN_FDNAMES");
    if (!pid.empty() && is_for_us(pid) && sockets > 0 && sockets < 1000) {
        sockets_ = static_cast<int>(sockets);
    }
}

void ServiceManager::notify(std::string_view state) const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (notify_socket_.empty() || notify_socket_.size() >= sizeof address.sun_path) return;
    std::memcpy(address.sun_path, notify_socket_.data(), notify_socket_.size());
    auto length = offsetof(sockaddr_un, sun_path) + notify_socket_.size();
    if (address.sun_path[0] == '@') {
        address.sun_path[0] = '\0';
    } else {
        ++length;
    }
    const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket < 0) return;
    // A service manager that does not read must not block the daemon.
    const timeval limit{1, 0};
    ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    ::sendto(socket, state.data(), state.size(), MSG_NOSIGNAL,
             reinterpret_cast<const sockaddr*>(&address), static_cast<socklen_t>(length));
    ::close(socket);
}

Result<std::vector<Listener>> ServiceManager::take_sockets() {
    std::vector<Listener> listeners;
    const int end = first_socket + std::exchange(sockets_, 0);
    for (int socket = first_socket; socket < end; ++socket) {
        auto listener = take_over(socket);
        if (!listener) {
            for (int other = socket + 1; other < end; ++other) ::close(other);
            return std::move(listener).error();
        }
        listeners.push_back(*std::move(listener));
    }
    return listeners;
}

}  // namespace rocklock
