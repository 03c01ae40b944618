// A daemon of a cluster: a node is the manager of a store on etcd, or a standby.
#pragma once

#include <rocklock/result.hpp>

#include "daemon/server/server.hpp"

namespace rocklock {

// Serves until SIGTERM or SIGINT is received. `options.store` is an etcd:// URL. If no other node
// is the manager of the store, this node becomes the manager and serves its clients. Otherwise it
// is a standby, which relays its clients to the manager, and becomes the manager when the other one
// has ended. A manager that was replaced becomes a standby. The listening sockets stay open, so
// that clients never find them closed.
//
// Errors: as serve() and serve_relay(), except that a store that another node serves is no error,
//         and that the node waits for etcd if it cannot be reached
Result<void> serve_node(const ServerOptions& options);

}  // namespace rocklock
