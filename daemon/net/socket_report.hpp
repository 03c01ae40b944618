// Facts that a socket reports about the client at its other end: whether the client has closed its
// sending side, whether the client may have closed its socket before it read all output, and how
// many bytes of the output the client has certainly read.
//
//     Unix socket   The kernel counts the bytes that the client has not read. If the client closes
//                   its socket with unread bytes, the socket reports an error.
//                   In shared memory, the client counts the bytes that it has read.
//     TCP           The kernel knows only what the client's kernel has received. If the client
//                   closes its socket with unread bytes, or if bytes arrive after that, the
//                   connection is reset and the socket reports an error.
//     Relay         The relay counts the bytes that the client has read, and reports the number
//                   when the client closes its connection.
#pragma once

#include <cstdint>

#include "daemon/net/client_channel.hpp"
#include "shared_memory/shared_connection.hpp"

namespace rocklock {

// Threads:  one at a time.
// Lifetime: the socket must be open during each call.
class SocketReport {
public:
    // If `channel` is not null, the client is a client of a relay, and `socket` is not used.
    explicit SocketReport(int socket, const ClientChannel* channel = nullptr);

    // From now on, the client may read its output from this memory, which must outlive this object.
    void use_memory(const SharedDaemonEnd& memory) { memory_ = &memory; }

    // Also returns true for a client of a relay.
    bool is_tcp() const { return tcp_; }

    // Must be called when a system call or epoll has reported an error, because the kernel may not
    // report the error again.
    void note_error() { failed_ = true; }
    // Must be called when the end of the input was read, or when epoll has reported it without an
    // error.
    void note_end_of_input() { input_ended_ = true; }
    bool input_ended() const { return input_ended_; }

    // Returns true if the socket has reported an error, now or before.
    bool failed();
    // Returns true if no output is unread. Returns false if that is unknown, which is always the
    // case with TCP. If the result is true, the caller must also call failed(), because output that
    // the kernel has discarded after the client closed its socket does not count as unread.
    bool all_read() const;
    // If the socket has reported an error, returns how many of the first `sent` bytes of output the
    // client has certainly read. Otherwise returns `sent`, on the assumption that the client will
    // read the bytes that are still unread. For a client of a relay, returns
    // ClientChannel::read_of().
    std::uint64_t read_of(std::uint64_t sent);

private:
    const int socket_;
    const ClientChannel* const channel_;
    // Null if the client does not use shared memory.
    const SharedDaemonEnd* memory_ = nullptr;
    bool tcp_ = false;
    bool failed_ = false;
    bool input_ended_ = false;
};

}  // namespace rocklock
