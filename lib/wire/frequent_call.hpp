// Reads the most frequent calls from frames, with a third of the instructions of FrameReader.
#pragma once

#include <cstdint>
#include <string_view>

#include "wire/call.hpp"

namespace rocklock {

enum class FrequentVerb : std::uint8_t { none, acquire, release };

// Reads the body of a call into `call` if it is a Release, or an Acquire of one lock by an existing
// session that has no other members than Session, Secret, Locks, PatienceMs and Held, in this
// order, as Rocklock's clients send them. Returns false for all other bodies and for invalid ones.
// The value of `call` must then not be used; read_any_call_frame() reads the body or reports the
// problem.
bool read_frequent_call(std::string_view body, Call& call);

// As above, but reads the members into `acquire` or `release`, and the secret into `secret`.
// Returns the verb, or `none` in place of false. The objects must be empty or filled by this
// function; a caller that reuses them avoids most allocations.
FrequentVerb read_frequent_call(std::string_view body, Acquire& acquire, Release& release,
                                Secret& secret);

}  // namespace rocklock
