// Reads the bodies of usual calls about locks directly from their text, without a tree of JSON
// values. This takes a fraction of the instructions.
#pragma once

#include <string_view>

#include <rocklock/lock.hpp>

namespace rocklock {

// Each function reads the body of one call and the secret of its session. The objects must be
// empty, except for the members that every usual body has. An Acquire is usual if it has the
// members Session, Secret and Locks, and possibly PatienceMs, RequestId and Note; its locks have
// the member Resource, and possibly Mode and Subtree. A Release has the members Session, Secret and
// Grant, and a RenewSession has Session and Secret.
//
// Returns false if the body is not valid; if it has other or repeated members; if a string has
// escapes or characters that are not ASCII; if a number has a sign, a fraction or an exponent; or
// if PatienceMs is neither -1 nor a time of at most a year. The caller must then read the body with
// JsonReader, which also reports faults, and must not use the values of the objects.
//
// Threads: reentrant.
bool read_usual_body(std::string_view body, Acquire& acquire, Secret& secret);
bool read_usual_body(std::string_view body, Release& release, Secret& secret);
bool read_usual_body(std::string_view body, RenewSession& renewal, Secret& secret);

}  // namespace rocklock
