// Ends all sessions of a principal.
#pragma once

#include <cstdint>
#include <string_view>

#include <rocklock/lock.hpp>
#include <rocklock/result.hpp>

namespace rocklock {

// Ends each live session of the principal, then looks again for those that were opened meanwhile,
// a few times at most. Returns how many were ended. Blocks for a durable commit of each.
//
// Errors: invalid_argument  `principal`, `by` or `reason` is empty or no name
//         those of EndSession and of the storage; the sessions before the failed one have ended
Result<std::uint64_t> end_all_sessions(LockService& service, std::string_view principal,
                                       std::string_view by, std::string_view reason);

}  // namespace rocklock
