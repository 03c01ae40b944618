// The headers with which a request for tables presents the locks of its client:
//
//     X-Rocklock-Session: <session>:<secret>
//     X-Rocklock-Token: <token>
//     X-Rocklock-Version: <version>
//     X-Rocklock-After: release | downgrade
//     X-Rocklock-Draft: <draft>
#pragma once

#include <optional>
#include <string_view>

#include <rocklock/lock.hpp>
#include <rocklock/result.hpp>

#include "service/service_request.hpp"
#include "wire/table_call.hpp"

namespace rocklock {

// Parses the headers. A misspelt, repeated or empty header is an error, because ignoring it would
// execute the request without the check that the client relies on. `locks` verifies the secret of
// the session, even if the session has ended. If `locks` is null, every session is refused.
//
// Errors: invalid_argument  a header is malformed or not allowed for the operation
//         not_owner         the secret is wrong
//         those of the storage
Result<TableGuards> read_lock_headers(const ServiceRequest& request, std::string_view operation,
                                      LockService* locks);

// Checks that the secret belongs to the session. Succeeds even if the session has ended: such a
// request is refused later, with an error that can name the current holders. Errors: not_owner if
// the secret is wrong; those of the storage.
Result<void> check_sender(LockService* locks, const SessionId& session, const Secret& secret);

// Reports to the lock manager that a call has presented the token of a grant of this session, after
// check_sender(). The grant is then not released if the connection on which it was granted is lost.
void note_token(LockService* locks, const SessionId& session, const std::optional<Token>& token);

}  // namespace rocklock
