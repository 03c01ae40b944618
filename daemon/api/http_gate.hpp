// Who is let in over TCP.
//
// On a Unix socket the kernel says who calls. On a TCP port of this machine anybody may call, and
// above all any page that a browser here happens to show. What keeps such pages out:
//
//     rebinding       a foreign name that leads to 127.0.0.1: the header Host must name this
//     machine forged calls    a page of another site that posts here: Origin must be our own
//     address, and
//                     the type of the body one that a browser does not send for another site
//                     unasked
//     foreign looks   pictures, frames and scripts of another site: by the Sec-Fetch headers
//
// There are no cookies and no credentials that a browser would add by itself.
#pragma once

#include <optional>

#include "daemon/http/http_reader.hpp"

namespace rocklock {

// Why a request that came over TCP is refused; nothing when it may go on.
std::optional<HttpProblem> refuse_foreign(const HttpRequest& request);

}  // namespace rocklock
