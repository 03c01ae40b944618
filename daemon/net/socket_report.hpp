// What a socket reports about the client at its other end: whether the client has closed its
// sending side, whether it may have closed its socket with unread output, and how many bytes of the
// output it has certainly read.
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

    // Must be called when a system call or epoll has reported an error, because the kernel may
    // report an error only once.
    void note_error() { failed_ = true; }
    // Must be called when the end of the input was read, or was reported by epoll without an error.
    void note_end_of_input() { input_ended_ = true; }
    bool input_ended() const { return input_ended_; }

    // Returns true if the socket has reported an error, now or before.
    bool failed();
    // Returns true if no unread output is left. Returns false if that is unknown, which is always
    // the case with TCP. After a result of true, the caller must also call failed(): output that
    // the kernel has discarded because the client closed its socket is not counted as unread.
    bool all_read() const;
    // Returns how many of the `sent` bytes of output the client has certainly read. If the socket
    // reports no error, the client is assumed to have read or to read all of them.
    std::uint64_t read_of(std::uint64_t sent);

private:
    const int socket_;
    bool tcp_ = false;
    bool failed_ = false;
    bool input_ended_ = false;
};

}  // namespace rocklock
