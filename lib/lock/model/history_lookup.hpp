// Requests about a grant or session that is not in the lock table, for example because it has
// ended: the lookup in the history, and the event that continues the request after the lookup.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <rocklock/lock.hpp>

namespace rocklock {

// The table does not know this grant, or, if `grant` is 0, this session. The manager looks it up in
// the history and completes the request.
struct HistoryLookup {
    Ticket ticket{};
    SessionId session;
    GrantId grant{};
    // The kind of the request. It determines the form of the response.
    enum class Verb : std::uint8_t { release, other, force, replay, reacquire } verb = Verb::other;
    // For `replay`: the fingerprint of the request's parameters.
    std::uint64_t fingerprint = 0;
};

// Acquires the locks of `grant` again, as found in the history. This is the second half of a
// Reacquire; the manager submits it after the lookup.
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
    // The hash of its request id; zero if it has none.
    std::uint64_t request_high = 0;
    std::uint64_t request_low = 0;
};

// Returns the response to the release of a grant that has already ended.
Released released_before(const Ending& ending);

}  // namespace rocklock
