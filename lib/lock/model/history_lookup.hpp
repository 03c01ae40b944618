// Requests about a grant or a session that is not in the lock table, for example because it has
// ended. The manager looks up the grant or the session in the history. The result either completes
// the request, or is an event that the lock table decides (ReacquireLocks).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <rocklock/lock.hpp>

namespace rocklock {

// A lookup in the history. The lock table does not contain `grant` or, if `grant` is 0, `session`.
// The manager looks up the missing object and completes the request.
struct HistoryLookup {
    Ticket ticket{};
    SessionId session;
    GrantId grant{};
    // The kind of the request, which determines the response. `force` is Break or Steal, `replay`
    // an Acquire that was repeated with its request id.
    enum class Verb : std::uint8_t { release, other, force, replay, reacquire } verb = Verb::other;
    // For `replay`: a hash of the request's parameters.
    std::uint64_t fingerprint = 0;
};

// Acquires the locks of an ended grant again. This event is the second half of a Reacquire: the
// manager submits it after it has read the record of `grant` from the history.
struct ReacquireLocks {
    SessionId session;
    GrantId grant{};
    std::vector<GrantedLock> locks;
    // The principal of the old grant. Only a session of the same principal may reacquire it.
    std::string principal;
};

// An ended grant whose record has been deleted from the history.
struct ForgottenGrant {
    GrantId grant{};
    std::vector<std::string> resources;
    // The hash of the request id with which the grant was acquired; zero if it had none.
    std::uint64_t request_high = 0;
    std::uint64_t request_low = 0;
};

// Returns the response to the release of a grant that has already ended.
Released released_before(const Ending& ending);

}  // namespace rocklock
