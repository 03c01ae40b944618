// What a request for tables shows of its sender's locks, in headers beside the body:
//
//     X-Rocklock-Session: <session>:<secret>
//     X-Rocklock-Token: <token>
//     X-Rocklock-Version: <version>
//     X-Rocklock-After: release | downgrade
//     X-Rocklock-Draft: <draft>
#pragma once

#include <string_view>

#include <rocklock/lock.hpp>
#include <rocklock/result.hpp>

#include "service/service_request.hpp"
#include "wire/table_call.hpp"

namespace rocklock {

// Reads them, strictly: one that is misspelt, given twice or empty must not be ignored, since its
// sender relies on it. `locks` tells whether the secret is the session's, also of one that has
// ended; it may be none: then no session is known.
//
// Errors: invalid_argument  what does not parse, or does not belong to the operation
//         not_owner         the secret
//         those of the storage
Result<TableGuards> read_lock_headers(const ServiceRequest& request, std::string_view operation,
                                      LockService* locks);

// Whether a sender has the secret of a session that it shows, also of one that has ended: that is
// told where it matters, with who has its locks now. Errors: not_owner; those of the storage.
Result<void> check_sender(LockService* locks, const SessionId& session, const Secret& secret);

}  // namespace rocklock
