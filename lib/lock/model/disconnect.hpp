// The disconnection of clients, as one event.
#pragma once

#include <vector>

#include <rocklock/lock.hpp>

namespace rocklock {

// A grant whose response did not reach its client, as far as the connection shows.
struct UndeliveredGrant {
    SessionId session;
    GrantId grant{};
    // The session was opened for this grant, so its id and secret are in the same response.
    bool own_session = false;
};

// What ends because its clients have disconnected.
struct Disconnect {
    // Waiting requests.
    std::vector<Ticket> waits;
    // The responses to these are discarded.
    std::vector<CloseSession> sessions;
    // Each of these is released unless the client has shown elsewhere that it knows the grant. If
    // the response was one of several for the same grant (Held::count), only the count is
    // decremented.
    std::vector<UndeliveredGrant> undelivered{};
};

}  // namespace rocklock
