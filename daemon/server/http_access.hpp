// The requests over TCP that the options of a daemon permit.
#pragma once

#include <rocklock/result.hpp>

#include "daemon/api/http_gate.hpp"
#include "daemon/server/server.hpp"

namespace rocklock {

// Returns the requests over TCP that the options permit. Reads the file with the secret.
//
// Errors: invalid_argument if the file cannot be read, or if the secret has fewer than 16 or more
//         than 512 characters, or contains spaces or characters that are not printable ASCII
Result<HttpAccess> http_access_of(const ServerOptions& options);

}  // namespace rocklock
