// The disconnection of clients, as one event.
#pragma once

#include <vector>

#include <rocklock/lock.hpp>

namespace rocklock {

// The waiting requests and the sessions that end because their clients have disconnected.
struct Disconnect {
    std::vector<Ticket> waits;
    // The responses to these are discarded.
    std::vector<CloseSession> sessions;
};

}  // namespace rocklock
