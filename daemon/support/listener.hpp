// A socket that listens, and what it is called.
#pragma once

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

    // The socket, once; the caller closes it.
    int take_socket() { return std::exchange(socket_, -1); }
    // Whoever comes over TCP is nobody the kernel knows.
    bool tcp() const { return tcp_; }
    // For people: a path, or http://127.0.0.1:PORT.
    const std::string& name() const { return name_; }

private:
    std::string name_;
    int socket_ = -1;
    bool tcp_ = false;
};

}  // namespace rocklock
