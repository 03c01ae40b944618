// The listening sockets of a daemon: those that it inherited, and those that it creates.
#pragma once

#include <sys/types.h>

#include <optional>
#include <vector>

#include <rocklock/result.hpp>

#include "daemon/server/server.hpp"
#include "daemon/server/socket_file.hpp"
#include "daemon/support/listener.hpp"

namespace rocklock {

struct Listeners {
    // The listener of the Unix socket is first.
    std::vector<Listener> all;
    // The file of the Unix socket. nullopt if the socket was inherited, because the process that
    // created the socket removes the file.
    std::optional<SocketFile> file;
};

// Adds to `passed` the listeners for HTTP, and a Unix socket if there is none.
//
// Errors: as SocketFile::listen and listen_on_loopback
Result<Listeners> open_listeners(std::vector<Listener> passed, const ServerOptions& options,
                                 std::optional<gid_t> group);

}  // namespace rocklock
