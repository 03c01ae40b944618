#include "daemon/support/http_listener.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>

namespace rocklock {
namespace {

constexpr int http_backlog = 4096;

struct Address {
    sockaddr_storage bytes{};
    socklen_t size = 0;

    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
    sockaddr* get() { return reinterpret_cast<sockaddr*>(&bytes); }
};

Error wrong(const std::string& address, const std::string& why) {
    return {ErrorCode::invalid_argument, "http: '" + address + "' " + why};
}

Error failed(const std::string& address) {
    const auto code = errno == EADDRINUSE ? ErrorCode::store_in_use : ErrorCode::io_error;
    return {code, "cannot listen on http://" + address + ": " + std::strerror(errno)};
}

std::optional<std::uint16_t> port_in(std::string_view text) {
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size()) {
        return std::nullopt;
    }
    return port;
}

Result<Address> parse(const std::string& text) {
    const auto colon = text.rfind(':');
    const auto port = colon == std::string::npos
                          ? std::nullopt
                          : port_in(std::string_view(text).substr(colon + 1));
    if (!port) return wrong(text, "must be HOST:PORT, as in 127.0.0.1:8000 or [::1]:8000");
    auto host = text.substr(0, colon);
    if (host == "localhost") host = "127.0.0.1";
    Address address;
    if (host.starts_with('[') && host.ends_with(']')) {
        auto* six = reinterpret_cast<sockaddr_in6*>(&address.bytes);
        six->sin6_family = AF_INET6;
        six->sin6_port = htons(*port);
        address.size = sizeof *six;
        if (::inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &six->sin6_addr) == 1) {
            return address;
        }
    } else {
        auto* four = reinterpret_cast<sockaddr_in*>(&address.bytes);
        four->sin_family = AF_INET;
        four->sin_port = htons(*port);
        address.size = sizeof *four;
        if (::inet_pton(AF_INET, host.c_str(), &four->sin_addr) == 1) return address;
    }
    return wrong(text, "must begin with localhost or an address, as in 127.0.0.1:8000");
}

bool is_loopback(const Address& address) {
    if (address.bytes.ss_family == AF_INET) {
        const auto* four = reinterpret_cast<const sockaddr_in*>(&address.bytes);
        return (ntohl(four->sin_addr.s_addr) >> 24) == 127;
    }
    const auto* six = reinterpret_cast<const sockaddr_in6*>(&address.bytes);
    return address.bytes.ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

std::string shown(const Address& address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (address.bytes.ss_family == AF_INET) {
        const auto* four = reinterpret_cast<const sockaddr_in*>(&address.bytes);
        ::inet_ntop(AF_INET, &four->sin_addr, text.data(), text.size());
        return std::string(text.data()) + ":" + std::to_string(ntohs(four->sin_port));
    }
    const auto* six = reinterpret_cast<const sockaddr_in6*>(&address.bytes);
    ::inet_ntop(AF_INET6, &six->sin6_addr, text.data(), text.size());
    return "[" + std::string(text.data()) + "]:" + std::to_string(ntohs(six->sin6_port));
}

constexpr const char* reachable_by_others =
    "can be reached from other machines, whose users could then acquire locks: give a loopback "
    "address, as in 127.0.0.1:8000";
constexpr const char* advice_for_containers = ", or serve a container with --container";

// Takes ownership of a listening socket. Also closes the socket if the call fails.
Result<Listener> adopt(int socket, HttpReach reach) {
    Listener owner(socket, true, "");
    Address address;
    address.size = sizeof address.bytes;
    if (::getsockname(socket, address.get(), &address.size) != 0) return failed("?");
    if (reach == HttpReach::this_host && !is_loopback(address)) {
        return wrong(shown(address), reachable_by_others);
    }
    return Listener(owner.take_socket(), true, "http://" + shown(address));
}

}  // namespace

bool is_loopback_name(std::string_view name) {
    in_addr four{};
    return name == "localhost" || name == "[::1]" ||
           (name.starts_with("127.") &&
            ::inet_pton(AF_INET, std::string(name).c_str(), &four) == 1);
}

Result<void> check_http_address(const std::string& address, HttpReach reach) {
    const auto wanted = parse(address);
    if (!wanted) return wanted.error();
    if (reach == HttpReach::this_host && !is_loopback(*wanted)) {
        return wrong(address, std::string(reachable_by_others) + advice_for_containers);
    }
    return {};
}

Result<Listener> listen_for_http(const std::string& address, HttpReach reach) {
    if (auto checked = check_http_address(address, reach); !checked) {
        return std::move(checked).error();
    }
    auto wanted = parse(address);
    if (!wanted) return std::move(wanted).error();

    const int socket =
        ::socket(wanted->bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (socket < 0) return failed(address);
    Listener owner(socket, true, address);
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (wanted->bytes.ss_family == AF_INET6) {
        ::setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
    }
    if (::bind(socket, wanted->get(), wanted->size) != 0 || ::listen(socket, http_backlog) != 0) {
        return failed(address);
    }
    return adopt(owner.take_socket(), reach);
}

Result<Listener> adopt_tcp(int socket) { return adopt(socket, HttpReach::this_host); }

}  // namespace rocklock
