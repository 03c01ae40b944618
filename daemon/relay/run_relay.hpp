// The relay: passes the connections of its clients on to the manager.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include <rocklock/error.hpp>
#include <rocklock/result.hpp>

#include "daemon/peer/tcp.hpp"
#include "daemon/peer/tls.hpp"
#include "daemon/server/daemon_setup.hpp"
#include "daemon/server/listeners.hpp"
#include "daemon/server/server.hpp"
#include "daemon/status/role_status.hpp"
#include "daemon/support/stop_request.hpp"

namespace rocklock {

// The manager to which a relay connects, and the certificate that it uses.
struct RelayTarget {
    // As HOST:PORT.
    std::string manager;
    HostAndPort address;
    std::shared_ptr<const TlsContext> tls;
};

// Errors: invalid_argument if the address, the name of the node or a certificate is invalid; or if
//         there is no certificate and the manager is on another host
Result<RelayTarget> relay_target(const ServerOptions& options, const std::string& manager);

// Returns the reason why a relay that has just started serves no clients (RoleStatus).
std::string no_link_yet(const RelayTarget& target);

// The objects that the relay uses and that outlive it.
struct RelayParts {
    const ServerOptions& options;
    const DaemonSetup& setup;
    Listeners& listeners;
    RelayTarget target;
    // If not null, the relay also ends on this request. The process then continues in another role.
    StopRequest* until = nullptr;
    // Also ends the relay, as a signal does.
    std::stop_token stop{};
    // If not null, gets the number of links and clients.
    RoleStatus* status = nullptr;
};

// Relays until a signal or `until` requests the end. Returns nullopt then, or the failure.
std::optional<Error> run_relay(const RelayParts& parts);

}  // namespace rocklock
