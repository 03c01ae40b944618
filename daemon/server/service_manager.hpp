// What systemd, or another manager of services that speaks its two small protocols, wants to know
// and gives: datagrams to $NOTIFY_SOCKET, and listening sockets from descriptor 3 on.
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
    // Reads the environment, and takes its variables out of it, so that no child is taken for us.
    ServiceManager();

    // "READY=1", "STOPPING=1", "STATUS=...". Does nothing where nobody asked for it.
    void notify(std::string_view state) const;

    // How often at least notify("WATCHDOG=1") is waited for; zero: never.
    std::chrono::microseconds watchdog() const { return watchdog_; }

    // The sockets that were made for us, once. Errors: invalid_argument, for one that is no
    // listening Unix socket, and no TCP socket of this machine alone.
    Result<std::vector<Listener>> take_sockets();

private:
    std::string notify_socket_;
    std::chrono::microseconds watchdog_{0};
    int sockets_ = 0;
};

}  // namespace rocklock
