// One connection of a client, over a socket or through a relay: reads input, passes it to a
// conversation, and writes the responses.
//
// The first byte of the input distinguishes HTTP from frames. All I/O is non-blocking. While a
// client does not read its responses, no further input is read from this client. Therefore, a slow
// client does not delay the others.
//
//     reading ──► held up: no room for responses ──► reading
//        │  └───► time slice used up: continues in the next round
//        ├─ the client sends no more ──► sends the remaining responses ──► closing ──► closed
//        ├─ the rest of a request does not arrive, or a response is not read ──► closed
//        └─ invalid protocol ──► discards the input for a while ──► closed
//
// If the last responses contain a grant, a connection is `closing` for a short time. During this
// time, it waits until the client closes the connection, because only then does the socket report
// whether the client has read the responses.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/api/node_connections.hpp"
#include "daemon/api/status_pages.hpp"
#include "daemon/net/arrival_gate.hpp"
#include "daemon/net/client_channel.hpp"
#include "daemon/net/client_socket.hpp"
#include "daemon/net/conversation.hpp"
#include "daemon/net/http_conversation.hpp"
#include "daemon/net/idle_connections.hpp"
#include "daemon/net/io_thread.hpp"
#include "daemon/net/transfer_limits.hpp"

namespace rocklock {

// Threads: runs on its IoThread, which owns it until it is closed.
class Connection final : public IoThread::Served, public std::enable_shared_from_this<Connection> {
public:
    // The client, and the objects of the server that the connection uses. These objects must
    // outlive the connection.
    struct Side {
        Caller caller;
        HttpServices services;
        Dispatcher& dispatcher;
        Traffic& traffic;
        // Contains the connection until its client has sent a request. May be null.
        IdleConnections* idle_connections = nullptr;
        // Counts the connection until its thread serves the connection. May be null.
        ArrivalGate* arrivals = nullptr;
        // For TransferLimits.
        std::chrono::milliseconds stall_timeout{60'000};
        // Null if the client does not use a relay.
        std::shared_ptr<NodeConnections::Slot> node_slot{};
    };

    // Takes ownership of the socket and assigns it to the thread. Thread-safe.
    static std::shared_ptr<Connection> start(int socket, IoThread& thread, const Side& side);
    // As above, for a client of a relay. Must be called on the thread. Side::arrivals must be null.
    static std::shared_ptr<Connection> start(std::shared_ptr<ClientChannel> channel,
                                             IoThread& thread, const Side& side);

    // The first two arguments are those of ClientSocket.
    Connection(int socket, std::shared_ptr<ClientChannel> channel, IoThread& thread,
               const Side& side);
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    ~Connection() override;

    // Runs a function on the thread of the connection. Thread-safe.
    void on_thread(std::function<void()> run) { thread_.post(std::move(run)); }
    // Closes the connection soon, unless its client has sent a whole request. Thread-safe.
    void end_if_silent();
    // Returns true if the client has sent bytes that will be processed but are not processed yet.
    // Returns false if no input is being read, for example because there is no room for responses.
    bool has_unread() const;

    std::size_t receive_ahead(std::span<char> space) override;
    void ready(std::uint32_t events) override;
    void continue_input() override;
    void send() override;
    void remind() override;

private:
    using Time = IoThread::Time;

    std::shared_ptr<Conversation> begin(char first);
    bool watch(std::uint32_t events);
    bool reads_input() const {
        return !closed_ && !held_up_ && !input_over_ && !discarding_ && !closing_;
    }
    void read(bool closed);
    void process_input(std::string_view bytes);
    void end_of_input();
    void discard();
    void write();
    void sent_all();
    void finish();
    void await_close(bool closed);
    void end_closing();
    void want_to_send();
    void update_interest();
    void continue_with_memory();
    void continue_soon();
    void update_busy();
    void remind_in(std::chrono::milliseconds time);
    void schedule_reminder();
    std::optional<Time> request_end() const;
    std::optional<Time> response_end() const;
    void update_request();
    void time_out_request();
    void hang_up();
    void keep_connection();

    ClientSocket client_;
    IoThread& thread_;
    Traffic& traffic_;
    const UserId uid_;
    std::shared_ptr<NodeConnections::Slot> node_slot_;
    const HttpServices services_;
    std::shared_ptr<ClientSession> client_session_;
    Clock& clock_;
    IdleConnections* const idle_connections_;
    // The number of this connection in `idle_connections_`, or 0 if the connection is not there.
    std::uint64_t idle_number_ = 0;
    // Null before the first byte and after the connection is closed.
    std::shared_ptr<Conversation> conversation_;
    std::string sending_;
    std::size_t sent_ = 0;
    struct Interest {
        std::uint32_t events = 0;
        // Usually one call of recv() reads all input. The socket is then edge-triggered, which
        // saves the kernel one check of the socket for each event. After the first event for which
        // this does not hold, the socket is level-triggered, so that the rest of the input is
        // reported again.
        bool level_triggered = false;
        // Whether the thread will call continue_input().
        bool continues = false;
        // The time of the last round in which input was processed.
        Time read_at{};
    };
    Interest interest_;
    // Whether the thread will call send().
    bool send_pending_ = false;
    // Whether the socket's send buffer is full.
    bool blocked_ = false;
    // Whether input is not read because there is no room for responses.
    bool held_up_ = false;
    // Whether the end of the input was read.
    bool input_over_ = false;
    bool discarding_ = false;
    // Whether all responses were sent, and the connection waits until the client closes its socket.
    bool closing_ = false;
    bool closed_ = false;
    bool counted_busy_ = false;
    // The time at which the connection is closed.
    std::optional<Time> deadline_;
    // The time of the earliest reminder that is scheduled.
    std::optional<Time> reminder_at_;
    TransferLimits limits_;
};

}  // namespace rocklock
