// TCP on this machine alone.
#pragma once

#include <string>
#include <string_view>

#include <rocklock/result.hpp>

#include "daemon/support/listener.hpp"

namespace rocklock {

// Whether a name, in small letters, can only mean this machine: localhost, 127.x.x.x or [::1].
bool is_loopback_name(std::string_view name);

// Whether "HOST:PORT" can be listened on. Errors: invalid_argument, as below.
Result<void> check_loopback(const std::string& address);

// Listens on "HOST:PORT"; port 0 takes a free one, which the listener's name tells.
//
// Errors: invalid_argument  not HOST:PORT, or an address that others can reach
//         store_in_use      another program listens there
//         io_error
Result<Listener> listen_on_loopback(const std::string& address);

// A listening TCP socket that somebody else has made. Errors: invalid_argument, as above.
Result<Listener> adopt_tcp(int socket);

}  // namespace rocklock
