// Protects the TCP port against requests of foreign web pages.
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
#pragma once

#include <optional>

#include "daemon/http/http_reader.hpp"

namespace rocklock {

// Returns the reason why a request over TCP is refused, or nullopt if it is allowed.
std::optional<HttpProblem> refuse_foreign(const HttpRequest& request);

}  // namespace rocklock
