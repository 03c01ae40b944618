// The listening sockets of a daemon. It inherits some of them and creates the others.
#pragma once

#include <sys/types.h>

#include <optional>
#include <vector>

#include <rocklock/result.hpp>

#include "daemon/server/server.hpp"
#include "daemon/server/socket_file.hpp"
#include "daemon/support/listener.hpp"
#include "daemon/support/log.hpp"

namespace rocklock {

struct Listeners {
    // The listener of the Unix socket is first.
    std::vector<Listener> all;
    // The file of the Unix socket. If the socket was inherited, this is nullopt, because the
    // process that created the socket also removes the file.
    std::optional<SocketFile> file;
    // In a duplicate, the file of the original, which must outlive the duplicate.
    const SocketFile* original_file = nullptr;
    // The listeners for relays.
    std::vector<Listener> peers;

    // Returns listeners with the same sockets, which do not own the file.
    Listeners duplicate() const;
    // Returns the file of the Unix socket, or null if there is none.
    const SocketFile* watched_file() const { return file ? &*file : original_file; }
};

// Logs the name of each listener.
void log_listeners(const Log& log, const Listeners& listeners);

// Returns the listeners in `passed`, plus those for HTTP, plus a Unix socket if `passed` has none.
// Also opens the listeners for relays.
//
// Errors: as SocketFile::listen, listen_for_http and listen_on_host
Result<Listeners> open_listeners(std::vector<Listener> passed, const ServerOptions& options,
                                 std::optional<gid_t> group);

}  // namespace rocklock
