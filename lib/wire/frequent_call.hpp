// Reads the most frequent calls from frames, with a third of the instructions of FrameReader.
#pragma once

#include <string_view>

#include "wire/call.hpp"

namespace rocklock {

// Reads the body of a call into `call` if it is a Release, or an Acquire of one lock by an existing
// session that has no other members than Session, Secret, Locks, PatienceMs and Held, in this
// order, as Rocklock's clients send them. Returns false for all other bodies and for invalid ones.
// The value of `call` must then not be used; read_any_call_frame() reads the body or reports the
// problem.
bool read_frequent_call(std::string_view body, Call& call);

}  // namespace rocklock
