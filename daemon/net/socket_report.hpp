// What a socket reports about the client at its other end: whether the client has closed its
// sending side, whether it has left output unread, and how much of the output it has read at least.
//
//     Unix socket   The kernel counts the bytes that the client has not read. If the client closes
//                   its socket with unread bytes, the socket reports an error.
//     TCP           The kernel knows only what the client's kernel has received. If the client
//                   closes its socket with unread bytes, or if bytes arrive after that, the
//                   connection is reset and the socket reports an error.
#pragma once

#include <cstdint>

namespace rocklock {

// Threads:  one at a time.
// Lifetime: the socket must be open during each call.
class SocketReport {
public:
    explicit SocketReport(int socket);

    bool is_tcp() const { return tcp_; }

    // Call this when a system call or epoll has reported an error: the kernel may report it once.
    void note_error() { failed_ = true; }
    // Call this when the end of the input was read, or reported by epoll without an error.
    void note_end_of_input() { input_ended_ = true; }
    bool input_ended() const { return input_ended_; }

    // Returns true if the socket has reported an error, now or before.
    bool failed();
    // Returns true if the client has read all output. Returns false if that is unknown, as always
    // with TCP. If it returns true, ask failed() afterwards: output that is discarded because the
    // client closed its socket is not counted as unread.
    bool all_read() const;
    // Returns how much of the output of `sent` bytes the client has read. If the socket reports
    // no error, this is all of it.
    std::uint64_t read_of(std::uint64_t sent);

private:
    const int socket_;
    bool tcp_ = false;
    bool failed_ = false;
    bool input_ended_ = false;
};

}  // namespace rocklock
