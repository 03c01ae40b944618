// The numbers of users, the identities of processes, and the hosts to which both belong.
//
// The daemons of other hosts can relay the clients of these hosts to a manager. Each of these hosts
// is a node, which has a name. The host of the manager has no name, unless the manager is a node of
// a cluster: users, processes and sessions then keep their hosts when another node takes over.
#pragma once

#include <cstdint>
#include <string>

namespace rocklock {

// A user. For a user of a host without a name, the number is the uid. For a user of a node, the
// upper 32 bits contain the number of the node, which is not 0, and the lower 32 bits contain the
// uid on the node's host.
//
// 2^32 - 1 is the user of all clients over TCP.
using UserId = std::uint64_t;

constexpr UserId user_of_node(std::uint32_t node, std::uint32_t uid) {
    return (UserId{node} << 32) | uid;
}
// Returns 0 for a user of a host without a name.
constexpr std::uint32_t node_number_of(UserId user) {
    return static_cast<std::uint32_t>(user >> 32);
}
constexpr std::uint32_t uid_of(UserId user) { return static_cast<std::uint32_t>(user); }

// A process. The start time distinguishes it from a later process with the same number.
struct ProcessId {
    std::int32_t pid = 0;
    // Field 22 of /proc/<pid>/stat: clock ticks since boot.
    std::uint64_t start_time = 0;
    friend bool operator==(const ProcessId&, const ProcessId&) = default;
};

// The host on which a client runs. Both members are empty for a host without a name.
struct ClientHost {
    std::string node;
    // The id of the boot of the host (Clock::boot_id()).
    std::string boot_id;
    friend auto operator<=>(const ClientHost&, const ClientHost&) = default;
};

}  // namespace rocklock
