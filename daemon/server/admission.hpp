// Accepts connections and decides which clients are admitted.
//
// While too many accepted connections wait to be served or refused, no connection is accepted, and
// further clients wait in the kernel's queue. When the limit of connections is reached, the oldest
// connection on which no request has arrived is closed if it is old enough (IdleConnections). The
// last slots of the limit are reserved for administrators.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "daemon/net/arrival_gate.hpp"
#include "daemon/net/client_channel.hpp"
#include "daemon/net/connection.hpp"
#include "daemon/net/idle_connections.hpp"
#include "daemon/net/io_thread.hpp"
#include "daemon/server/listeners.hpp"
#include "daemon/server/refusals.hpp"
#include "daemon/server/socket_drain.hpp"
#include "daemon/support/descriptors.hpp"
#include "daemon/support/log.hpp"

namespace rocklock {

// Threads:  one, which runs the context.
// Lifetime: borrows all objects in `Uses`. The connections that an Admission has started may
//           outlive it.
class Admission {
public:
    // The objects that an Admission uses.
    struct Uses {
        boost::asio::io_context& control;
        const Log& log;
        Traffic& traffic;
        Dispatcher& dispatcher;
        // Passed to each connection. Only the member `tcp` depends on the connection.
        HttpServices services;
        std::vector<std::unique_ptr<IoThread>>& threads;
        // The members of this group are administrators. nullopt if there is no such group.
        std::optional<gid_t> admin_group;
        int max_connections = 0;
        std::chrono::milliseconds stall_timeout{};
    };

    explicit Admission(Uses uses);

    // Accepts connections on all listeners until close().
    void start(Listeners& listeners);
    void close();

    // Serves a client of a relay on the thread of its channel. If a limit is reached, calls
    // `refuse` on that thread with the reason instead. `tcp` states whether the client is connected
    // to the relay over TCP.
    void admit(std::shared_ptr<ClientChannel> channel, const Caller& caller, bool tcp,
               IoThread& thread, std::function<void(const std::string& reason)> refuse);

    // Returns true if a client waits to be accepted.
    bool has_waiting_clients();
    ConnectionSet& connections() { return connections_; }

private:
    using Protocol = boost::asio::generic::stream_protocol;

    struct ListeningSocket {
        boost::asio::basic_socket_acceptor<Protocol> acceptor;
        bool tcp = false;
    };

    boost::asio::awaitable<void> accept_loop(ListeningSocket& listening);
    boost::asio::awaitable<void> await_room();
    // Returns the client at the other end.
    Caller caller_at(Protocol::socket& socket, bool tcp) const;
    void admit(Protocol::socket socket, bool tcp);
    std::optional<Error> refusal_of(const Caller& caller);
    Connection::Side side_of(const Caller& caller, bool tcp);
    bool has_slot_for(const Caller& caller);
    bool make_room(bool for_administrator);

    const Uses uses_;
    IdleConnections idle_connections_;
    ConnectionSet connections_;
    ArrivalGate arrivals_;
    // The timer of await_room(). Cancelling it ends the wait.
    boost::asio::steady_timer room_;
    bool closed_ = false;
    std::size_t next_thread_ = 0;
    std::vector<std::unique_ptr<ListeningSocket>> listening_;
    SpareDescriptor spare_;
    Refusals refusals_;
    RateLimiter dropped_{std::chrono::milliseconds{10'000}};
};

}  // namespace rocklock
