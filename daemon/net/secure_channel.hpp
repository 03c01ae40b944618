// An encrypted stream over a socket.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>
#include <string_view>

namespace rocklock {

// receive() and send() correspond to recv() and send() on a non-blocking socket: they return -1 and
// set errno on failure, with EAGAIN if the socket is not ready.
//
// Threads:  one at a time.
// Lifetime: the owner of the channel closes the socket after the channel is destroyed.
class SecureChannel {
public:
    SecureChannel() = default;
    SecureChannel(const SecureChannel&) = delete;
    SecureChannel& operator=(const SecureChannel&) = delete;
    virtual ~SecureChannel() = default;

    // Returns 0 only if the peer has ended its output in order. If the connection ends without
    // that, fails with ECONNRESET, because an attacker or a fault may have removed the rest.
    virtual ssize_t receive(std::span<char> buffer) = 0;
    // If it fails with EAGAIN, the next call must begin with the same bytes.
    virtual ssize_t send(std::string_view bytes) = 0;
    // Returns true if receive() returns bytes that were already read from the socket. The kernel
    // does not report the socket as readable for these bytes.
    virtual bool has_buffered() const = 0;
    // Ends the output in order. The peer can still send.
    virtual void end_output() = 0;
};

}  // namespace rocklock
