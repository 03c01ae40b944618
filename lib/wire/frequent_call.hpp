// Reads and writes the most frequent calls and replies in frames, with a third of the instructions
// of FrameReader and FrameWriter. The bytes and the values are the same.
//
// In all other cases, including invalid bytes, the functions return false. The caller then uses
// FrameReader or FrameWriter.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "wire/call_frame.hpp"

namespace rocklock {

// Reads the body of a call into `call` if it is a Release, a RenewSession, or an Acquire of one
// lock by an existing session, that has no other members than those that Rocklock's clients usually
// send, in the same order: Session, Secret, and then Grant; optionally Rebind; or Locks,
// PatienceMs, Held and optionally RequestId. If the function returns false, the value of `call`
// must not be used; read_any_call_frame() reads the body or reports the problem.
bool read_frequent_call(std::string_view body, Call& call);

enum class FrequentVerb : std::uint8_t { none, acquire, release };

// As above, but reads the members into `acquire` or `release`, and the secret into `secret`.
// Returns the verb, or `none` for all other calls, including a RenewSession. The objects must be
// empty or filled by this function; a caller that reuses them avoids most allocations.
FrequentVerb read_frequent_call(std::string_view body, Acquire& acquire, Release& release,
                                Secret& secret);

// Appends the frame of a call that read_frequent_call() can read. If the function returns false, it
// has appended nothing.
bool append_frequent_call(std::string& out, std::uint64_t number, const Call& call);

// Appends the frame of the reply to a call that has not waited: a Grant or a Released that
// read_frequent_reply() can read. If the function returns false, it has appended nothing.
bool append_frequent_reply(std::string& out, std::uint64_t number, const Answer& answer);

// Reads the body of the reply to an Acquire, a Release or a RenewSession; see read_reply_frame().
// The Grant of an Acquire must have one lock, and neither the Grant nor the SessionInfo of a
// RenewSession may contain notices, a new session or the absence of an expiry. If the function
// returns false, the values of `held` and `reply` must not be used.
bool read_frequent_reply(const CallBody& asked, std::string_view body,
                         std::chrono::milliseconds& held, Reply& reply);

}  // namespace rocklock
