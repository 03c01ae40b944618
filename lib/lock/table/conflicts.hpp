// The conflicts of a request: the result of LockTable::Core::find_conflicts().
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <rocklock/lock.hpp>

#include "lock/model/modes.hpp"
#include "lock/model/nodes.hpp"

namespace rocklock::lock_model {

// The kinds of conflicts that find_conflicts() lists. Conflicts::blocked does not depend on this
// value.
enum class Collect : std::uint8_t { nothing, holds, holds_and_waits };

// The conflicts of a request.
struct Conflicts {
    Collect collect = Collect::nothing;
    std::vector<const Hold*> holds;
    std::vector<const WaitLock*> waits;
    // Grants that have expired and are not yet cleaned up. If the request is granted, the batch
    // that contains the new grant also ends these grants.
    std::vector<GrantId> dead;
    bool blocked = false;
    // The earliest time at which the conflicts may change without another event.
    BootTime recheck_at{BootTime::max()};
    std::optional<BootTime> closed_until;
    // If the request has alternatives and is not blocked: the index of the alternative to grant.
    std::size_t alternative = 0;
};

// Returns whether two waiting requests for one resource conflict. Two requests for permits always
// conflict, because permits are granted in the order of arrival, however many are free.
inline bool in_conflict(const RequestedLock& one, const RequestedLock& other) {
    return (one.permits > 0 && other.permits > 0) || conflicting(one.mode, other.mode);
}

}  // namespace rocklock::lock_model
