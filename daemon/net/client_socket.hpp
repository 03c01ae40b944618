// This process's end of a client's connection: a socket, with or without shared memory, or the
// channel of a client of a relay.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "daemon/api/traffic.hpp"
#include "daemon/net/client_channel.hpp"
#include "daemon/net/io_thread.hpp"
#include "daemon/net/socket_report.hpp"
#include "shared_memory/shared_connection.hpp"

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
    // until then. Returns the number of bytes: 0 at the end of the input, after an error, for a
    // client of a relay, and after the client was offered shared memory, which needs no system call
    // to be read.
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

    // Offers the client of a Unix socket to use shared memory
    // (shared_memory/shared_connection.hpp). The offer is sent with the next output. Does nothing
    // for other clients, if the memory was offered before, if `connections` has reached its
    // maximum, or if the system refuses to create the memory.
    void offer_memory(IoThread& thread, const std::shared_ptr<IoThread::Served>& served,
                      SharedConnections& connections);
    // Returns true if memory was offered.
    bool has_memory() const { return memory_ != nullptr; }
    // Returns true if output is written to shared memory. If send() does not accept all of it,
    // EPOLLIN reports that the client has read some.
    bool sends_to_memory() const { return sends_to_memory_; }
    // Returns true if the client has written to shared memory, which EPOLLIN reports only once.
    bool has_input_in_memory() const { return memory_ && memory_->has_input(); }
    // Lets EPOLLIN also report that the client has read output from shared memory.
    void watch_reads() {
        if (memory_) memory_->watch_reads();
    }

    // Returns false if the client is a client of a relay.
    bool is_socket() const { return channel_ == nullptr; }
    // Returns true if the client is a client of a relay, and the connection to the relay was lost.
    bool lost_relay() const { return channel_ && channel_->lost(); }

    SocketReport& report() { return report_; }
    const SocketReport& report() const { return report_; }

private:
    ssize_t send_offer(std::string_view bytes);
    ssize_t receive_now(std::span<char> buffer);
    // Returns what receive_ahead() has received, and the rest of the input if it has filled its
    // space. An error that this call meets is returned by the next receive().
    ssize_t take_ahead(std::span<char> buffer);

    const int socket_;
    const std::shared_ptr<ClientChannel> channel_;
    // Null until it is offered to the client.
    std::unique_ptr<SharedDaemonEnd> memory_;
    // Whether the next output passes the descriptors of the memory to the client.
    bool offers_memory_ = false;
    // Whether send() has written to the memory, or has tried to. It never changes back.
    bool sends_to_memory_ = false;
    // Whether the socket was read to its end after the client had begun to write to the memory.
    bool socket_read_ = false;
    SocketReport report_;
    // The bytes or the errno from receive_ahead() that receive() has not returned yet.
    std::span<const char> ahead_;
    int error_ahead_ = 0;
    // Whether receive_ahead() has filled its space, so that there may be more input.
    bool filled_ahead_ = false;
};

}  // namespace rocklock
