#include "daemon/peer/tcp.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <memory>

namespace rocklock {
namespace {

constexpr int seconds_to_first_probe = 5;
constexpr int seconds_between_probes = 3;
constexpr int probes = 3;
constexpr int tcp_backlog = 1024;
constexpr unsigned max_unacknowledged_ms = 15'000;

bool is_loopback(const sockaddr* address) {
    if (address->sa_family == AF_INET) {
        const auto* four = reinterpret_cast<const sockaddr_in*>(address);
        return (ntohl(four->sin_addr.s_addr) >> 24) == 127;
    }
    const auto* six = reinterpret_cast<const sockaddr_in6*>(address);
    return address->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

// Returns null if the name cannot be resolved.
Addresses resolve(const HostAndPort& address, int flags) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags;
    addrinfo* found = nullptr;
    const char* const port = address.port.empty() ? nullptr : address.port.c_str();
    if (::getaddrinfo(address.host.c_str(), port, &hints, &found) != 0) found = nullptr;
    return {found, ::freeaddrinfo};
}

void set_option(int socket, int level, int name, int value) {
    ::setsockopt(socket, level, name, &value, sizeof value);
}

}  // namespace

Result<HostAndPort> parse_host_and_port(const std::string& setting, const std::string& text) {
    const auto colon = text.rfind(':');
    if (colon != std::string::npos && colon > 0) {
        HostAndPort parsed{text.substr(0, colon), text.substr(colon + 1)};
        auto& host = parsed.host;
        const bool in_brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
        if (in_brackets) host = host.substr(1, host.size() - 2);
        std::uint16_t number = 0;
        const char* const end = parsed.port.data() + parsed.port.size();
        const auto [stop, error] = std::from_chars(parsed.port.data(), end, number);
        const bool is_port = error == std::errc{} && stop == end;
        if (is_port && (in_brackets || host.find(':') == std::string::npos)) return parsed;
    }
    return Error(
        ErrorCode::invalid_argument,
        setting + ": '" + text + "' must be HOST:PORT, as in locks.example.org:7070 or [::1]:7070");
}

bool is_loopback_host(const std::string& host) {
    const auto found = resolve({host, ""}, 0);
    for (const auto* at = found.get(); at != nullptr; at = at->ai_next) {
        if (!is_loopback(at->ai_addr)) return false;
    }
    return found != nullptr;
}

Result<Listener> listen_on_host(const std::string& setting, const HostAndPort& address) {
    const auto text = address.host + ":" + address.port;
    const auto found = resolve(address, AI_PASSIVE);
    if (!found) {
        return Error(ErrorCode::invalid_argument,
                     setting + ": the host " + address.host +
                         " has no address: write a name or an IP address of this machine");
    }
    const int socket =
        ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
    Listener owner(socket, true, text);
    set_option(socket, SOL_SOCKET, SO_REUSEADDR, 1);
    if (socket < 0 || ::bind(socket, found->ai_addr, found->ai_addrlen) != 0 ||
        ::listen(socket, tcp_backlog) != 0) {
        const bool in_use = errno == EADDRINUSE;
        return Error(
            in_use ? ErrorCode::store_in_use : ErrorCode::io_error,
            setting + ": cannot listen on " + text + ": " + std::strerror(errno) +
                (in_use ? "; end the program that uses it, or choose another port"
                        : "; write an address of this machine, and a port that this user can use"));
    }
    sockaddr_storage bound{};
    socklen_t size = sizeof bound;
    std::array<char, NI_MAXHOST> host{};
    std::array<char, NI_MAXSERV> port{};
    ::getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &size);
    ::getnameinfo(reinterpret_cast<const sockaddr*>(&bound), size, host.data(), host.size(),
                  port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV);
    const bool six = bound.ss_family == AF_INET6;
    const std::string shown = six ? "[" + std::string(host.data()) + "]" : host.data();
    return Listener(owner.take_socket(), true, shown + ":" + port.data());
}

void set_link_options(int socket) {
    set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, seconds_to_first_probe);
    set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, seconds_between_probes);
    set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, probes);
    set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(max_unacknowledged_ms));
}

void close_with_reset(int socket) {
    const linger now{1, 0};
    ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    ::close(socket);
}

}  // namespace rocklock
