// Reads the bodies of usual calls about locks directly from their text, without a tree of JSON
// values, with a fraction of the instructions.
#pragma once

#include <string_view>

#include <rocklock/lock.hpp>

namespace rocklock {

// Each function reads the body of one call and the secret of its session. The objects must be
// empty. An Acquire is usual if it has the members Session, Secret and Locks, and possibly
// PatienceMs, RequestId and Note; its locks have the member Resource, and possibly Mode and
// Subtree. A Release has the members Session, Secret and Grant, and a RenewSession has Session and
// Secret.
//
// Returns false if the body has other members, is not valid, or has strings with escapes or
// characters that are not ASCII. The caller must then read the body with read_call(), or report its
// fault. The values of the objects must not be used then.
//
// Threads: reentrant.
bool read_usual_body(std::string_view body, Acquire& acquire, Secret& secret);
bool read_usual_body(std::string_view body, Release& release, Secret& secret);
bool read_usual_body(std::string_view body, RenewSession& renewal, Secret& secret);

}  // namespace rocklock
