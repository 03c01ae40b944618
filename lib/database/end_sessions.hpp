// Ends all sessions of a principal.
#pragma once

#include <cstdint>
#include <string_view>

#include <rocklock/lock.hpp>
#include <rocklock/result.hpp>

namespace rocklock {

// Ends each live session of the principal. Repeats this for sessions that were opened meanwhile, up
// to five rounds in total. Returns the number of ended sessions. Blocks for a durable commit of
// each session.
//
// Errors: invalid_argument  `principal`, `by` or `reason` is empty or not a valid name
//         those of EndSession and of the storage; the sessions before the failed one have ended
Result<std::uint64_t> end_all_sessions(LockService& service, std::string_view principal,
                                       std::string_view by, std::string_view reason);

}  // namespace rocklock
