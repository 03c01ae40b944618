// Audits the lock table regularly in debug and sanitizer builds.
#pragma once

#include <cstdint>

#include <rocklock/clock.hpp>

#include "lock/table/lock_table.hpp"

namespace rocklock::manager {

// Counts the decisions, and calls LockTable::audit_invariants() after a number of them. If an
// invariant is violated, prints the violation and aborts, because a lock table that is known to be
// wrong must not grant locks.
//
// The number of decisions between two audits grows with the cost of an audit, so that the average
// cost of the audits per decision is bounded.
//
// Threads: one at a time.
class TableAudit {
public:
    static constexpr std::uint64_t min_period = 64;

    // Returns true if the library was built with audits (ROCKLOCK_AUDITS).
    static bool is_on();

    // Called after each decision, if audits are on.
    void decided(const LockTable& table, Instant now);

private:
    // The number of decisions since the last audit.
    std::uint64_t decisions_ = 0;
};

}  // namespace rocklock::manager
