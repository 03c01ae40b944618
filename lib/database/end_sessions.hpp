// Ends all sessions of a principal or of a user.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <rocklock/identity.hpp>
#include <rocklock/lock.hpp>
#include <rocklock/result.hpp>

namespace rocklock {

// Selects the sessions to end.
struct SessionOwner {
    // Used only if `uid` is not set.
    std::string_view principal;
    // The user that opened the sessions.
    std::optional<UserId> uid{};
};

// Ends each session of the owner. If sessions of the owner were opened during the call, ends them
// too, in at most five rounds. Returns the number of ended sessions. Waits for a durable commit for
// each session.
//
// Errors: invalid_argument  `principal`, `by` or `reason` is empty or not a valid name
//         those of EndSession and of the storage; the sessions that were ended before the error
//         stay ended
Result<std::uint64_t> end_all_sessions(LockService& service, const SessionOwner& owner,
                                       std::string_view by, std::string_view reason);

}  // namespace rocklock
