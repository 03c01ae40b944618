// Steps of the start that a manager and a relay share.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>

#include <rocklock/error.hpp>
#include <rocklock/result.hpp>

#include "daemon/server/listeners.hpp"
#include "daemon/server/server.hpp"
#include "daemon/server/service_manager.hpp"
#include "daemon/server/socket_file.hpp"
#include "daemon/support/log.hpp"

namespace rocklock {

// Ignores SIGPIPE, SIGUSR1 and SIGUSR2. Ignores SIGHUP until the daemon handles it. Makes new files
// inaccessible to other users, because the store contains the key that proves the ownership of
// sessions.
void prepare_process();

// The objects that a daemon creates before it serves.
struct DaemonSetup {
    std::unique_ptr<Log> log;
    ServiceManager manager;
    // The group ServerOptions::admin_group, if there is one.
    std::optional<gid_t> admin_group;
    std::optional<Listeners> listeners;
    // ServerOptions::max_connections, or fewer if the process cannot have as many descriptors.
    int max_connections = 0;
    // The maximum number of connections with shared memory. Their descriptors are not available for
    // other connections.
    int max_shared_connections = 0;
};

// Opens the log and the listening sockets. Errors: io_error (the log); those of find_group(),
// ServiceManager::take_sockets() and open_listeners()
Result<DaemonSetup> set_up_daemon(const ServerOptions& options);

// Returns the error of a daemon that stops because its socket file was removed or replaced.
Error lost_socket_file(const SocketFile& file);

}  // namespace rocklock
