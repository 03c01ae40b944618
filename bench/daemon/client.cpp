#include "daemon/client.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <iostream>

namespace rocklock::bench {

void give_up(const std::string& why) {
    std::cerr << "bench: " << why << std::endl;
    // Does not run destructors, because other threads are still running.
    std::_Exit(1);
}

Client::Client(int fd) : fd_(fd) {
    if (fd_ < 0) give_up("a server does not listen");
}

Client::~Client() { ::close(fd_); }

// The socket is blocking. Requests are short, so the send buffer has room for one.
ssize_t Client::send_some(std::string_view bytes) {
    return ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

ssize_t Client::receive_some(std::span<char> buffer, bool waits) {
    return ::recv(fd_, buffer.data(), buffer.size(), waits ? 0 : MSG_DONTWAIT);
}

void Client::send(std::string_view bytes) {
    while (!bytes.empty()) {
        const auto size = send_some(bytes);
        if (size <= 0) give_up("a server hung up");
        bytes.remove_prefix(static_cast<std::size_t>(size));
    }
}

bool Client::receive(bool waits) {
    char buffer[16'384];
    const auto size = receive_some(buffer, waits);
    if (size < 0 && errno == EAGAIN) return false;
    if (size <= 0) give_up("a server hung up");
    received_.append(buffer, static_cast<std::size_t>(size));
    return true;
}

bool Client::on_readable() { return receive(false) && take_answer(); }

void Client::await() {
    while (!take_answer()) receive(true);
}

bool Client::take_line(std::string_view line) {
    const auto end = received_.find("\r\n");
    if (end == std::string::npos) return false;
    if (std::string_view(received_).substr(0, end) != line) give_up("unexpected: " + received_);
    received_.erase(0, end + 2);
    return true;
}

}  // namespace rocklock::bench
