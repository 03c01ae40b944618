// A daemon without a store, which relays its clients to the manager on another host.
#pragma once

#include <rocklock/result.hpp>

#include "daemon/server/server.hpp"

namespace rocklock {

// Serves until SIGTERM or SIGINT is received. On SIGHUP, opens the log file again, and reads the
// certificates again. Listens on the same sockets as serve(), and passes the bytes of each client
// to the manager at `options.relay`. While the manager cannot be reached, new clients wait for up
// to `options.relay_timeout`; then their connections are closed.
//
// Errors: invalid_argument  `options.relay` or a certificate is invalid; or there is no certificate
//                           and the manager is on another host
//         store_in_use      another daemon listens on the socket
//         io_error          a socket cannot be created, or its file was removed or replaced
Result<void> serve_relay(const ServerOptions& options);

}  // namespace rocklock
