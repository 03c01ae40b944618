// A client that may send anything, on a server without sockets.
#pragma once

#include <string_view>

namespace rocklock {

// Plays one connection: the first byte of `input` chooses how the others are cut into pieces, and
// whether the client hangs up or closes its sending side at the end. Afterwards everything that is
// left is ended by time. Throws std::logic_error when the server breaks a promise: a request
// without an answer, a lock that outlives its lease, a lock table that contradicts itself.
void play_client(std::string_view input);

}  // namespace rocklock
