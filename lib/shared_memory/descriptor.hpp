// File descriptors, and their transfer over Unix sockets.
#pragma once

#include <sys/types.h>

#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace rocklock {

// Owns a file descriptor, and closes it in its destructor.
class Descriptor {
public:
    Descriptor() = default;
    explicit Descriptor(int fd) : fd_(fd) {}
    Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        if (this != &other) {
            close();
            fd_ = std::exchange(other.fd_, -1);
        }
        return *this;
    }
    ~Descriptor() { close(); }

    int get() const { return fd_; }
    explicit operator bool() const { return fd_ >= 0; }
    void close();

private:
    int fd_ = -1;
};

// As send() with MSG_DONTWAIT and MSG_NOSIGNAL, and passes the descriptors together with the first
// byte. At most `max_passed` descriptors.
ssize_t send_with_descriptors(int socket, std::string_view bytes, std::span<const int> descriptors);
// As recv() with MSG_DONTWAIT, and appends the descriptors that came with the bytes.
ssize_t receive_with_descriptors(int socket, std::span<char> buffer,
                                 std::vector<Descriptor>& descriptors);
inline constexpr std::size_t max_passed = 4;

}  // namespace rocklock
