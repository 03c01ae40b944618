// Requests about a grant that the lock table does not have (any more): the question that the table
// asks of the history, and the event that continues the request after the lookup.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <rocklock/lock.hpp>

namespace rocklock {

// The table does not know this grant, or not any more; the manager looks in the history.
struct HistoryLookup {
    Ticket ticket{};
    SessionId session;
    GrantId grant{};
    // What was asked; decides in what form the ending is told.
    enum class Verb : std::uint8_t { release, other, force, replay, reacquire } verb = Verb::other;
    // Of a replay: what its parameters came to.
    std::uint64_t fingerprint = 0;
};

// Takes again what `grant` held, as the history tells it: the second half of a Reacquire, which the
// manager sends when it has looked the locks up.
struct ReacquireLocks {
    SessionId session;
    GrantId grant{};
    std::vector<GrantedLock> locks;
    // Who held it: only another session of theirs may take it again.
    std::string principal;
};

// An ended grant whose record is trimmed from the history.
struct ForgottenGrant {
    GrantId grant{};
    std::vector<std::string> resources;
    // The hash of its request id; zeros for none.
    std::uint64_t request_high = 0;
    std::uint64_t request_low = 0;
};

// The answer to the release of a grant that had ended so before.
Released released_before(const Ending& ending);

}  // namespace rocklock
