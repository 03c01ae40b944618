// Closes a connection in such a way that the client can still read the last bytes that the daemon
// sent.
#pragma once

#include <chrono>
#include <memory>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>

namespace rocklock {

// Closes the sending side of the socket. Then reads and discards the input until the client closes
// the connection or `max_time` has passed. If the socket were closed with unread input, the kernel
// would reset the connection, and the client might lose the last bytes.
//
// Threads: must run on the executor of the socket.
boost::asio::awaitable<void> discard_input(
    std::shared_ptr<boost::asio::generic::stream_protocol::socket> socket,
    std::chrono::milliseconds max_time);

}  // namespace rocklock
