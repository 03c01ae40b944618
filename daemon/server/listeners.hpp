// All the sockets that a daemon listens on: those it was passed, and those it makes.
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
    // The one on the Unix socket first.
    std::vector<Listener> all;
    // Ours to remove; none for a socket that was passed.
    std::optional<SocketFile> file;
};

// Makes what is missing among `passed`: a Unix socket if there is none, and those for HTTP.
//
// Errors: as SocketFile::listen and listen_on_loopback.
Result<Listeners> open_listeners(std::vector<Listener> passed, const ServerOptions& options,
                                 std::optional<gid_t> group);

}  // namespace rocklock
