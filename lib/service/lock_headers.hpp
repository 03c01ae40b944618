// The headers with which a request for tables presents the locks of its client:
//
//     X-Rocklock-Session: <session>:<secret>
//     X-Rocklock-Token: <token>
//     X-Rocklock-Version: <version>
//     X-Rocklock-After: release | downgrade
//     X-Rocklock-Draft: <draft>
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <rocklock/identity.hpp>
#include <rocklock/lock.hpp>
#include <rocklock/result.hpp>

#include "service/service_request.hpp"
#include "wire/table_call.hpp"

namespace rocklock {

// Parses these headers. A misspelt, repeated or empty header is an error: if it were ignored, the
// request would be executed without the check on which the client relies. `locks` verifies the
// secret of the session, even if the session has ended. If `locks` is null, every session is
// refused.
//
// Errors: invalid_argument  a header is malformed or not allowed for the operation
//         not_owner         the secret is wrong
//         those of the storage
Result<TableGuards> read_lock_headers(const ServiceRequest& request, std::string_view operation,
                                      LockService* locks);

// Checks that the secret belongs to the session. Succeeds even if the session has ended: the
// request is then refused later, with an error that can name the current holders. Errors: not_owner
// if the secret is wrong; those of the storage.
//
// Returns the value for LockProof::owner: the user that opened the session, or none if this user is
// an administrator.
Result<std::optional<UserId>> check_sender(LockService* locks, const SessionId& session,
                                           const Secret& secret);

// Reports to the lock manager that a call has presented a token of this session. Must be called
// only after check_sender() has succeeded. After this report, the grant is not released if the
// connection on which it was given is lost.
void note_token(LockService* locks, const SessionId& session, const std::optional<Token>& token);

}  // namespace rocklock
