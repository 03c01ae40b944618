// Coroutines for the beginning of a connection between two daemons: the TLS handshake and the first
// messages, over a socket of Asio.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>

#include "daemon/peer/tls.hpp"

namespace rocklock {

using LinkSocket = boost::asio::generic::stream_protocol::socket;

// Completes the handshake. Returns false if it fails (TlsChannel::failure()), or if the socket is
// closed meanwhile.
boost::asio::awaitable<bool> shake_hands(LinkSocket& socket, TlsChannel& channel);

// Receives exactly `size` bytes and appends them to `bytes`. Returns false if the connection ends
// before all of them have arrived.
boost::asio::awaitable<bool> receive_exactly(LinkSocket& socket, TlsChannel& channel,
                                             std::size_t size, std::string& bytes);

// Sends a short message at the beginning of a connection. Returns false if the socket does not
// accept it at once, which happens only if the connection is broken.
bool send_at_once(TlsChannel& channel, const std::string& message);

}  // namespace rocklock
