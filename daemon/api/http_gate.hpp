// Decides which requests over TCP are accepted.
//
// On a Unix socket, the kernel identifies the client. A loopback port accepts all local clients.
// Therefore, it also receives requests of any web page that a browser on this machine shows. These
// checks refuse such requests:
//
//     DNS rebinding   a foreign name resolves to 127.0.0.1: Host must name this machine
//     forged calls    a page of another site posts to this server: Origin must be this server, and
//                     the body must have a type that browsers do not send across sites without a
//                     preflight
//     foreign reads   a page of another site embeds a URL of this server as an image, frame or
//                     script: the Sec-Fetch headers of the request reveal this
//
// The server does not use cookies or other credentials that a browser adds to requests
// automatically.
//
// In a container, the port accepts clients of other hosts as well (HttpAccess). These clients may
// use the tables. To use the lock API, they must send a secret.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/http/http_reader.hpp"

namespace rocklock {

// The requests over TCP that a daemon accepts.
struct HttpAccess {
    // True if the port may accept clients of other hosts. The header Host may then also be any IP
    // address. This does not permit DNS rebinding, because in that attack, Host contains a name.
    bool from_other_hosts = false;
    // The names, without a port, that the header Host may contain in addition to those of this
    // machine. The case of letters does not matter.
    std::vector<std::string> hosts;
    // If not empty, all requests except those for tables and for /healthz and /readyz must have the
    // header "Authorization: Bearer SECRET". If it is empty and `from_other_hosts` is true, these
    // requests are refused.
    std::string secret;
};

// Returns the reason why a request over TCP is refused, or nullopt if it is allowed.
std::optional<HttpProblem> refuse_foreign(const HttpRequest& request,
                                          const HttpAccess& access = {});

}  // namespace rocklock
