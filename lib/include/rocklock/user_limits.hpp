// The limits per user of sessions, grants, waiters, drafts and bytes.
#pragma once

#include <cstdint>

namespace rocklock {

// The limits of one user. They apply to all clients of the user together. Users are distinguished
// by uid; all clients over TCP count as one user. Zero means no limit. A request that would exceed
// a limit fails with limit_exceeded.
struct UserLimits {
    std::uint64_t sessions = 0;
    // The maximum number of the user's grants and waiting requests together.
    std::uint64_t grants = 0;
    std::uint64_t waiters = 0;
    // The memory of the sessions, grants and waiters, in bytes. The memory is estimated; the
    // estimate is never lower than the memory in use.
    std::uint64_t lock_bytes = 0;
    // Drafts of refused writes. If a draft would exceed this limit or `table_bytes`, the draft is
    // not stored, and the error of the refused write states this reason.
    std::uint64_t drafts = 0;
    // The bytes of the tables that the user created, including their indexes, and of the user's
    // drafts.
    std::uint64_t table_bytes = 0;
};

}  // namespace rocklock
