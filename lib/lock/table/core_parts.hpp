// Parts of the lock table's state that have no invariants of their own, and the types of some
// parameters of its functions.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/identity.hpp>

#include "lock/model/hash_mix.hpp"
#include "lock/model/hot_names.hpp"
#include "lock/model/nodes.hpp"
#include "lock/model/request_loader.hpp"
#include "lock/records/records.hpp"

namespace rocklock::lock_model {

// Returns the error for an operation on a grant that has ended.
Error ended_error(const Ending& ending);
// Returns an error if the reason of a forced change is empty or invalid.
std::optional<Error> check_reason(std::string_view reason);

// Returns the time at which a wait that begins now times out. Returns BootTime::max() if the clock
// cannot represent that time.
constexpr BootTime patience_end(BootTime now, std::chrono::milliseconds patience) {
    const auto remaining = std::chrono::floor<std::chrono::milliseconds>(BootTime::max() - now);
    return patience > remaining ? BootTime::max() : now + patience;
}

// Returns the smaller of two limits, where zero means no limit.
constexpr std::chrono::milliseconds tighter(std::chrono::milliseconds a,
                                            std::chrono::milliseconds b) {
    if (a == std::chrono::milliseconds{0}) return b;
    if (b == std::chrono::milliseconds{0}) return a;
    return std::min(a, b);
}

struct Timers {
    // Returns the next time at which the sweep must process `sessions` or `grants`, which must not
    // be empty.
    BootTime next_session() const {
        return std::max({sessions.top().at, sessions_from, expires_from});
    }
    BootTime next_grant() const { return std::max(grants.top().at, expires_from); }

    // The deadlines of sessions and the caps of grants. The sweep processes them, possibly late.
    TimerHeap sessions;
    TimerHeap grants;
    // Before this time, the sweep does not process `sessions`, even if a timer is due.
    BootTime sessions_from{};
    // The same for `sessions` and `grants` (Tick::expiry_pause).
    BootTime expires_from{};
    // The times at which waits must be examined again and closed resources opened. They are
    // processed without delay.
    TimerHeap waits;
    TimerHeap closures;
};

// Statistics about contention: the names with the most waits, and the last deadlocks.
struct ContentionLog {
    HotNames names;
    std::vector<Deadlock> deadlocks;
};

// State that recovery collects before it changes the table. Grants are entered in groups, and
// request ids are added in batches, while records are still read; the rest is applied after all
// records have been read.
struct RecoveryState {
    // A resource of a grant that was upgraded, and the token of the upgrade.
    struct Converted {
        std::string name;
        std::uint64_t token = 0;
        GrantId grant{};
    };
    std::vector<Converted> converted;
    static constexpr std::size_t group_size = 16;
    // Recovered grants that are not yet in Core::grants, and whose resources are not yet in
    // Core::resources. At most `group_size`.
    std::vector<Near<Grant>> grants;
    // The request ids that are not yet in Core::requests.
    RequestLoader requests;
    // Recovered grants whose maximum hold time starts again.
    std::vector<GrantId> recapped;
};

// The arguments of make_grant(), except for the locks.
struct GrantRequest {
    Session* session = nullptr;
    std::string_view note;
    const Metadata* metadata = nullptr;
    std::chrono::milliseconds max_hold{0};
    RequestIdentity request;
    bool waited = false;
    std::chrono::milliseconds min_hold{0};
};

}  // namespace rocklock::lock_model
