// The disconnection of clients, as one event.
#pragma once

#include <vector>

#include <rocklock/lock.hpp>

namespace rocklock {

// A grant whose response has probably not reached its client, according to the state of the
// connection.
struct UndeliveredGrant {
    SessionId session;
    GrantId grant{};
    // The session was opened for this grant, so its id and secret are in the same response.
    bool own_session = false;
};

// The waits, sessions and grants that end because their clients have disconnected.
struct Disconnect {
    // Waiting requests.
    std::vector<Ticket> waits;
    // The sessions to close. The responses are discarded.
    std::vector<CloseSession> sessions;
    // The grants to release. A grant is kept if the client has shown, by another request, that it
    // knows the grant. If the response was one of several for the same grant (Held::count), only
    // the count is decremented.
    std::vector<UndeliveredGrant> undelivered{};
};

}  // namespace rocklock
