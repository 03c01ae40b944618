// A small HTTP server for the health and the metrics of this process (OwnPages).
//
// It has a thread of its own, so that it answers while the process has no role. Each connection
// serves one request, because probes are rare: this limits the number and the time of connections
// without further rules.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <thread>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>

#include <rocklock/result.hpp>

#include "daemon/status/own_pages.hpp"
#include "daemon/support/listener.hpp"
#include "daemon/support/log.hpp"

namespace rocklock {

// Threads:  one thread constructs and destroys it; it serves on its own thread.
// Lifetime: borrows the pages.
class StatusServer {
public:
    // The maximum number of connections. A further client replaces the oldest one.
    static constexpr std::size_t max_connections = 64;

    // Listens on the address HOST:PORT of the setting `status-listen`, logs it, and serves the
    // pages there. Returns null if the address is empty.
    //
    // Errors: invalid_argument  the address is invalid, or its host has no address
    //         store_in_use      another program listens on the address
    //         io_error
    static Result<std::unique_ptr<StatusServer>> start(const std::string& address,
                                                       const OwnPages& pages, const Log& log);

    StatusServer(const StatusServer&) = delete;
    StatusServer& operator=(const StatusServer&) = delete;
    // Closes all connections.
    ~StatusServer();

private:
    using Protocol = boost::asio::generic::stream_protocol;
    using Socket = std::shared_ptr<Protocol::socket>;

    StatusServer(Listener listener, const OwnPages& pages);

    boost::asio::awaitable<void> accept();
    boost::asio::awaitable<void> serve(Socket socket);
    boost::asio::awaitable<std::string> answer(Protocol::socket& socket) const;
    void add(const Socket& socket);

    const OwnPages& pages_;
    boost::asio::io_context context_;
    boost::asio::basic_socket_acceptor<Protocol> acceptor_;
    // The connections that are served, the oldest first.
    std::list<Socket> connections_;
    std::thread thread_;
};

}  // namespace rocklock
