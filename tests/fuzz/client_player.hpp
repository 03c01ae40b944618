// A client that may send anything, on a server without sockets.
#pragma once

#include <string_view>

namespace rocklock {

// Plays one connection. Of `input`
//
//     the first byte    is the size of the pieces in which the rest comes; 0: all at once
//     the second byte   1: closes its sending side at the end, and does not just hang up
//                       2: comes over TCP
//                       4: takes answers when it must
//                       8 to 248: by so much time goes on after each piece; see client_player.cpp
//     the rest          is what the client sends
//
// Afterwards everything that is left is ended by time. Sessions and their secrets are the same in
// every run: seeds.py knows them. Throws std::logic_error when the server breaks a promise: a
// request without an answer, an answer that cannot be read, a lock that outlives its lease, a lock
// table that contradicts itself.
void play_client(std::string_view input);

}  // namespace rocklock
