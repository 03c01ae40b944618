// One event for the disconnection of several clients.
#pragma once

#include <vector>

#include <rocklock/lock.hpp>

namespace rocklock {

// A grant whose response has probably not reached its client. The server concludes this from the
// state of the connection.
struct UndeliveredGrant {
    SessionId session;
    GrantId grant{};
    // Whether the session was opened for this grant alone. If so, the same response contains the id
    // and the secret of the session.
    bool own_session = false;
};

// The waits, sessions and grants that end because their clients have disconnected.
struct Disconnect {
    // Waiting requests.
    std::vector<Ticket> waits;
    // The sessions to close. The responses are discarded.
    std::vector<CloseSession> sessions;
    // The grants to release. Exceptions: if the client has shown by another request that it knows
    // the grant, the grant is kept; if the count of the grant is greater than 0 (Held::count), only
    // the count is decremented.
    std::vector<UndeliveredGrant> undelivered{};
};

}  // namespace rocklock
