// The members of a grant that few grants need.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <rocklock/identity.hpp>
#include <rocklock/lock.hpp>

#include "lock/model/arena.hpp"
#include "lock/model/request_key.hpp"
#include "lock/model/timer_heap.hpp"

namespace rocklock::lock_model {

// The request of a principal to the holder of a grant to take over the grant (StealPolicy::ask).
// Kept in memory only: after a restart, the principal must ask again.
struct Ask {
    enum class Answer : std::uint8_t { none, allowed, refused };

    // The principal that has asked, and the user that opened the session in which it asked. The
    // principal may continue in another session.
    UserId uid = 0;
    std::string principal;
    // The session in which the principal has asked last. This session gets the answer.
    SessionId session;
    Answer answer = Answer::none;
    // The time of the request or, if there is an answer, of the answer.
    BootTime since{};
};

struct GrantExtra : InArena {
    // The token, if an upgrade has made it differ from the id of the grant; otherwise 0.
    Token token{};
    // The number of additional releases that the grant needs, because requests with Held::count
    // have acquired it again.
    std::uint32_t count = 0;
    std::string note;
    Metadata metadata;
    // Empty if the grant is in a slot with a RequestPart.
    RequestIdentity request;
    RequestKey convert_request;
    std::uint64_t convert_fingerprint = 0;
    // If `max_hold` is greater than zero, the grant ends at the time `cap`, even if its session is
    // renewed.
    std::chrono::milliseconds max_hold{0};
    BootTime cap{BootTime::max()};
    Timer timer;
    // The `min_hold` of the request; 0 if it has none.
    std::chrono::milliseconds min_hold{0};
    // The requests of other principals to take over the grant.
    std::vector<Ask> asks;
};

}  // namespace rocklock::lock_model
