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

// Listens on "HOST:PORT". With port 0 the kernel chooses a port; name() contains it.
//
// Errors: invalid_argument  not HOST:PORT, or an address that other machines can reach
//         store_in_use      another program listens there
//         io_error
Result<Listener> listen_on_loopback(const std::string& address);

// Takes ownership of a listening TCP socket that another process has created, also if the call
// fails. Errors: invalid_argument if other machines can reach it.
Result<Listener> adopt_tcp(int socket);

}  // namespace rocklock
