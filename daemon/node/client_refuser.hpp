// Refuses the clients of a node that cannot open its store, so that they get the reason.
#pragma once

#include <chrono>
#include <list>
#include <memory>
#include <thread>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>

#include "daemon/server/listeners.hpp"
#include "daemon/status/role_status.hpp"

namespace rocklock {

// Clients first wait in the queue of the listening socket, because most failures are short. After
// `max_wait`, all clients that connect or wait are refused with the reason of the role `waiting`,
// also while a later attempt to open the store is in progress.
//
// Threads:  one thread constructs and destroys it; it serves on its own thread.
// Lifetime: borrows the role.
class ClientRefuser {
public:
    ClientRefuser(const Listeners& listeners, const RoleStatus& role,
                  std::chrono::milliseconds max_wait);
    ClientRefuser(const ClientRefuser&) = delete;
    ClientRefuser& operator=(const ClientRefuser&) = delete;
    // Closes the connections whose refusal is in progress. Later clients wait in the queue again.
    ~ClientRefuser();

private:
    using Protocol = boost::asio::generic::stream_protocol;
    using Acceptor = boost::asio::basic_socket_acceptor<Protocol>;

    boost::asio::awaitable<void> accept(Acceptor& acceptor, std::chrono::milliseconds max_wait);
    boost::asio::awaitable<void> refuse(std::shared_ptr<Protocol::socket> socket);

    const RoleStatus& role_;
    boost::asio::io_context context_;
    std::list<Acceptor> acceptors_;
    int clients_ = 0;
    std::thread thread_;
};

}  // namespace rocklock
