// TCP connections between the daemons of several hosts.
#pragma once

#include <string>

#include <rocklock/result.hpp>

#include "daemon/support/listener.hpp"

namespace rocklock {

struct HostAndPort {
    // A name or an IP address, without brackets.
    std::string host;
    std::string port;
};

// Parses HOST:PORT or [ADDRESS]:PORT. `setting` is the name of the setting for the error message.
//
// Errors: invalid_argument  the text has another form, or the port is not from 0 to 65535
Result<HostAndPort> parse_host_and_port(const std::string& setting, const std::string& text);

// Returns true if all addresses of the host are loopback addresses. Returns false if the name
// cannot be resolved.
bool is_loopback_host(const std::string& host);

// Listens on the first address of the host. If the port is 0, the kernel chooses a port. The name
// of the listener contains the chosen port. `setting` is the name of the setting for error
// messages.
//
// Errors: invalid_argument  the host has no address
//         store_in_use      another program listens on the address
//         io_error
Result<Listener> listen_on_host(const std::string& setting, const HostAndPort& address);

// Sends small messages without delay. If the other host does not respond for 15 seconds, the
// connection fails.
void set_link_options(int socket);

// Closes a socket so that the other side gets an error instead of the end of the input.
void close_with_reset(int socket);

}  // namespace rocklock
