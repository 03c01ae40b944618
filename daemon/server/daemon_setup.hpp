// Steps of the start that a manager and a relay share.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>

#include <rocklock/error.hpp>
#include <rocklock/result.hpp>

#include "daemon/server/server.hpp"
#include "daemon/server/socket_file.hpp"
#include "daemon/support/log.hpp"

namespace rocklock {

// Ignores SIGPIPE, SIGUSR1 and SIGUSR2. Ignores SIGHUP until the daemon handles it. Makes new files
// inaccessible to other users, because the store contains the key that proves the ownership of
// sessions.
void prepare_process();

// Opens the log that the options describe. Errors: io_error
Result<std::unique_ptr<Log>> open_log(const ServerOptions& options);

// Returns the group ServerOptions::admin_group, or nullopt if there is none. Errors: as
// find_group()
Result<std::optional<gid_t>> admin_group_of(const ServerOptions& options);

// Returns the error of a daemon that stops because its socket file was removed or replaced.
Error lost_socket_file(const SocketFile& file);

}  // namespace rocklock
