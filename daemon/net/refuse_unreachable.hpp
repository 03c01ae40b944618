// Refuses a client of a process that cannot reach the manager or the store.
#pragma once

#include <memory>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>

namespace rocklock {

// Sends the reason as an UnreachableException, in a response that clients of all protocols
// understand. Then gives the client one second to read it, and closes the connection.
//
// Threads: must run on the executor of the socket.
boost::asio::awaitable<void> refuse_unreachable(
    std::shared_ptr<boost::asio::generic::stream_protocol::socket> socket, std::string reason);

}  // namespace rocklock
