// The manager: serves an open store.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include <rocklock/database.hpp>
#include <rocklock/error.hpp>

#include "daemon/server/daemon_setup.hpp"
#include "daemon/server/http_access.hpp"
#include "daemon/server/listeners.hpp"
#include "daemon/server/peer_admission.hpp"
#include "daemon/server/server.hpp"
#include "daemon/support/stop_request.hpp"
#include "service/cluster_service.hpp"

namespace rocklock {

// The objects that the manager uses and that outlive it.
struct ManagerParts {
    const ServerOptions& options;
    const DaemonSetup& setup;
    Listeners& listeners;
    Database& database;
    PeerAccess peer_access;
    HttpAccess http_access;
    // Whether this process continues as a standby if another node becomes the manager.
    bool is_node = false;
    // If not null, executes the calls about the nodes of the cluster.
    ClusterService* cluster = nullptr;
    // If not null, this request ends the role of the manager, as a takeover does.
    StopRequest* hand_over = nullptr;
    // Also ends the manager, as a signal does.
    std::stop_token stop{};
    // Called with the reason when the manager begins to end. May be empty.
    std::function<void(const std::string& reason)> on_end{};
    // Appends further metrics to those of the manager. May be empty.
    std::function<void(std::string& text)> more_metrics{};
};

// Serves until a signal requests the end, the idle limit is reached, the role is handed over, or
// the storage fails; then closes the database. Returns nullopt after a requested stop, or the
// failure.
std::optional<Error> run_manager(const ManagerParts& parts);

}  // namespace rocklock
