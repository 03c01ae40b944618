// This process's end of a client's connection: a socket, or the channel of a client of a relay.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "daemon/net/client_channel.hpp"
#include "daemon/net/io_thread.hpp"
#include "daemon/net/socket_report.hpp"

namespace rocklock {

// Threads: one at a time.
class ClientSocket {
public:
    // If `channel` is null, takes ownership of the socket. Otherwise, the socket is not used.
    ClientSocket(int socket, std::shared_ptr<ClientChannel> channel)
        : socket_(socket), channel_(std::move(channel)), report_(socket, channel_.get()) {}
    ClientSocket(const ClientSocket&) = delete;
    ClientSocket& operator=(const ClientSocket&) = delete;
    ~ClientSocket();

    // As recv() and send() on a non-blocking socket.
    ssize_t receive(std::span<char> buffer);
    // Receives into `space`. The next call of receive() returns these bytes, which must fit into
    // its buffer, and more of the input if there is any; or the error. `space` must not change
    // until then. Returns the number of bytes: 0 at the end of the input, after an error, and for a
    // client of a relay.
    std::size_t receive_ahead(std::span<char> space);
    ssize_t send(std::string_view bytes);
    // Returns true if the client has sent bytes that were not received yet.
    bool has_unread() const;
    // Ends the output. The client can still send.
    void end_output();
    // Closes both directions, and ends the watch.
    void hang_up(IoThread& thread);

    // As IoThread::watch() and change().
    bool watch(IoThread& thread, const std::shared_ptr<IoThread::Served>& served,
               std::uint32_t events);
    void change(IoThread& thread, std::uint32_t events);

    // Returns false if the client is a client of a relay.
    bool is_socket() const { return channel_ == nullptr; }
    // Returns true if the client is a client of a relay, and the connection to the relay was lost.
    bool lost_relay() const { return channel_ && channel_->lost(); }

    SocketReport& report() { return report_; }
    const SocketReport& report() const { return report_; }

private:
    // Returns what receive_ahead() has received, and the rest of the input if it has filled its
    // space. An error that this call meets is returned by the next receive().
    ssize_t take_ahead(std::span<char> buffer);

    const int socket_;
    const std::shared_ptr<ClientChannel> channel_;
    SocketReport report_;
    // The bytes or the errno from receive_ahead() that receive() has not returned yet.
    std::span<const char> ahead_;
    int error_ahead_ = 0;
    // Whether receive_ahead() has filled its space, so that there may be more input.
    bool filled_ahead_ = false;
};

}  // namespace rocklock
