// Retention: the maximum age and the maximum number of the records that are kept about the past.
#pragma once

#include <chrono>
#include <cstdint>

#include <rocklock/export.hpp>
#include <rocklock/result.hpp>
#include <rocklock/types.hpp>

namespace rocklock {

// The limits for ended grants and sessions, drafts, and rows of the audit log. Records that exceed
// a limit are deleted gradually.
struct Retention {
    // The history of resources: ended grants and ended sessions. They are deleted at the age
    // `history_age`. If there are more than `max_history_records` ended grants, or more than this
    // number of ended sessions, the oldest are deleted earlier. However, a record is kept for at
    // least ten minutes, and for at least the duration of its session's lease, because repeated
    // requests are answered from it.
    std::chrono::milliseconds history_age = std::chrono::hours{24};
    std::uint64_t max_history_records = 1'000'000;
    // Drafts of refused writes: the age at which they are deleted, and the maximum number of drafts
    // for each pair of a principal and a user.
    std::chrono::milliseconds draft_age = limits::draft_age;
    std::uint32_t max_principal_drafts = limits::drafts_per_principal;
    // Rows of the audit log: their maximum age by the wall clock, and their maximum number. 0 means
    // no limit.
    std::chrono::milliseconds audit_age{0};
    std::uint64_t max_audit_rows = 0;

    friend bool operator==(const Retention&, const Retention&) = default;
};

// Errors: invalid_argument if `history_age` is less than ten minutes, `draft_age` is not positive,
//         `max_principal_drafts` is 0 or greater than limits::drafts_per_principal, or `audit_age`
//         is negative.
ROCKLOCK_API Result<void> check_retention(const Retention& retention);

}  // namespace rocklock
