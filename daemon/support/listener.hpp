// A listening socket with its name.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <utility>

namespace rocklock {

// Owns the socket.
class Listener {
public:
    Listener(int socket, bool tcp, std::string name)
        : name_(std::move(name)), socket_(socket), tcp_(tcp) {}
    Listener(Listener&& other) noexcept
        : name_(std::move(other.name_)),
          socket_(std::exchange(other.socket_, -1)),
          tcp_(other.tcp_) {}
    Listener& operator=(Listener&&) = delete;
    ~Listener() {
        if (socket_ >= 0) ::close(socket_);
    }

    // Returns the socket, which the caller must close. Returns -1 if it was taken before.
    int take_socket() { return std::exchange(socket_, -1); }
    // Returns another listener with the same socket, which must not have been taken.
    Listener duplicate() const { return {::fcntl(socket_, F_DUPFD_CLOEXEC, 0), tcp_, name_}; }
    // True for TCP. The kernel cannot identify the user of a TCP client.
    bool tcp() const { return tcp_; }
    // Returns a name for messages: the path of a Unix socket, or a URL such as
    // http://127.0.0.1:8000.
    const std::string& name() const { return name_; }

private:
    std::string name_;
    int socket_ = -1;
    bool tcp_ = false;
};

}  // namespace rocklock
