// The role of a process that is a node of a cluster or a relay, and whether it serves its clients.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/mutex.hpp"

namespace rocklock {

enum class ProcessRole : std::uint8_t {
    // The process serves no clients. They wait, or are refused.
    waiting,
    manager,
    // A node that relays its clients to the manager.
    standby,
    // A daemon without a store that relays its clients to the manager.
    relay,
};

std::string_view to_string(ProcessRole role);

// The role is the one that the process knows: a manager that was paused can still have this role
// here for a moment after another node has taken over.
//
// Threads: thread-safe.
class RoleStatus {
public:
    struct State {
        // `waiting` if the process is a standby or a relay without a link to the manager.
        ProcessRole role = ProcessRole::waiting;
        // If the role is `waiting`, the reason. Otherwise empty.
        std::string reason;
        // The established links to the manager, and the open connections of the clients of a
        // standby or a relay. 0 in other roles.
        int links = 0;
        int clients = 0;
    };

    // `reason`: why the process serves no clients (in the role `waiting`), or why it has no link to
    // the manager yet (in the roles `standby` and `relay`). Sets both numbers to 0.
    void set_role(ProcessRole role, std::string reason = {});
    // Sets the numbers of a standby or a relay. `failure`: why there is no link; empty if this is
    // unknown.
    void set_links(int links, int clients, const std::string& failure);

    State state() const;

private:
    mutable Mutex mutex_;
    State state_ ROCKLOCK_GUARDED_BY(mutex_){ProcessRole::waiting, "the process starts", 0, 0};
};

}  // namespace rocklock
