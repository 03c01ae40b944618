// The TCP addresses of the HTTP API: loopback addresses, or any address in a container.
#pragma once

#include <string>
#include <string_view>

#include <rocklock/result.hpp>

#include "daemon/support/listener.hpp"

namespace rocklock {

// Returns true if a name, in lower case, can only refer to this machine: localhost, 127.x.x.x or
// [::1].
bool is_loopback_name(std::string_view name);

// The hosts that may reach an address of the HTTP API.
enum class HttpReach { this_host, other_hosts };

// Checks an address "HOST:PORT". Errors: invalid_argument if it is not valid, or if other hosts
// than those of `reach` can reach it.
Result<void> check_http_address(const std::string& address, HttpReach reach);

// Listens on "HOST:PORT". If the port is 0, the kernel chooses a port, which the name of the
// listener contains.
//
// Errors: invalid_argument  as check_http_address
//         store_in_use      another program listens on the address
//         io_error
Result<Listener> listen_for_http(const std::string& address, HttpReach reach);

// Takes ownership of a listening TCP socket that another process has created. Also closes the
// socket if the call fails. Errors: invalid_argument if other machines can reach the socket.
Result<Listener> adopt_tcp(int socket);

}  // namespace rocklock
