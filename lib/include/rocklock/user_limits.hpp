// The limits of what the clients of one user may have at once.
#pragma once

#include <cstdint>

namespace rocklock {

// What the clients of one user may have at once. Zero means unlimited. A user is a uid; all clients
// over TCP are one user. A request for more fails with limit_exceeded.
struct UserLimits {
    std::uint64_t sessions = 0;
    // Grants, and requests that wait for one.
    std::uint64_t grants = 0;
    std::uint64_t waiters = 0;
    // Bytes of memory for all of these: an estimate, from above.
    std::uint64_t lock_bytes = 0;
    // Drafts of refused writes.
    std::uint64_t drafts = 0;
    // Bytes of the tables that the user created, with their indexes, and of the user's drafts.
    std::uint64_t table_bytes = 0;
};

}  // namespace rocklock
