// TCP on loopback addresses.
#pragma once

#include <string>
#include <string_view>

#include <rocklock/result.hpp>

#include "daemon/support/listener.hpp"

namespace rocklock {

// Returns true if a name, in lower case, can only refer to this machine: localhost, 127.x.x.x or
// [::1].
bool is_loopback_name(std::string_view name);

// Checks that "HOST:PORT" is a loopback address. Errors: invalid_argument if it is not.
Result<void> check_loopback(const std::string& address);

// Listens on "HOST:PORT". If the port is 0, the kernel chooses a port, which the name of the
// listener contains.
//
// Errors: invalid_argument  `address` is not HOST:PORT, or other machines can reach it
//         store_in_use      another program listens on the address
//         io_error
Result<Listener> listen_on_loopback(const std::string& address);

// Takes ownership of a listening TCP socket that another process has created. Also closes the
// socket if the call fails. Errors: invalid_argument if other machines can reach the socket.
Result<Listener> adopt_tcp(int socket);

}  // namespace rocklock
