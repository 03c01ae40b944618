// A client that sends arbitrary bytes to a server without sockets.
#pragma once

#include <string_view>

namespace rocklock {

// Executes one connection. `input` consists of:
//
//     first byte    the size of the pieces in which the rest is sent; 0: a single piece
//     second byte   1: at the end, shuts down its sending side before it disconnects
//                   2: connects over TCP
//                   4: takes responses only when it must
//                   8 to 248: the time that passes after each piece; see client_player.cpp
//     other bytes   the data that the client sends
//
// After the connection, time passes until all leases have ended. Sessions and their secrets are the
// same in every run, so that client_seeds.py can use them. Throws std::logic_error if the server
// breaks a promise: if a request gets no response, a response cannot be parsed, a lock outlives its
// lease, or the lock table is inconsistent.
void play_client(std::string_view input);

}  // namespace rocklock
