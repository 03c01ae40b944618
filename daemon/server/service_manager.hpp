// The protocols of systemd and compatible service managers: notifications in datagrams to
// $NOTIFY_SOCKET, and listening sockets that are passed as descriptors from number 3 on.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/result.hpp>

#include "daemon/support/listener.hpp"

namespace rocklock {

class ServiceManager {
public:
    // Reads NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID, LISTEN_FDS and LISTEN_PID. Removes them and
    // LISTEN_FDNAMES from the environment, so that child processes do not use them.
    ServiceManager();

    // Sends "READY=1", "STOPPING=1" or "STATUS=...". Does nothing if there is no $NOTIFY_SOCKET.
    void notify(std::string_view state) const;

    // Returns the time within which notify("WATCHDOG=1") must be repeated, or zero if the service
    // manager does not expect it.
    std::chrono::microseconds watchdog() const { return watchdog_; }

    // Returns the passed sockets. A second call returns none. Errors: invalid_argument if a socket
    // does not listen, or is neither a Unix socket nor a TCP socket on a loopback address.
    Result<std::vector<Listener>> take_sockets();

private:
    std::string notify_socket_;
    std::chrono::microseconds watchdog_{0};
    int sockets_ = 0;
};

}  // namespace rocklock
