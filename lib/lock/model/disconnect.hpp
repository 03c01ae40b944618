// The disconnection of clients, as one event.
#pragma once

#include <vector>

#include <rocklock/lock.hpp>

namespace rocklock {

// What disconnected clients leave: the requests that wait, and the sessions that end with them.
struct Disconnect {
    std::vector<Ticket> waits;
    // Their answers go to no client.
    std::vector<CloseSession> sessions;
};

}  // namespace rocklock
