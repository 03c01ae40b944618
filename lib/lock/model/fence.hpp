// Types for two checks: whether a client may write an item under its grant, and whether a client
// without a lock may read an item.
//
// A write presents the grant on which it relies. The lock table checks that the grant is still held
// and covers the resource, and returns the conditions that must hold when the write is committed (a
// fence). Therefore, a holder that was paused or disconnected, or whose lock was stolen, cannot
// write after its lock has ended, however late its write arrives.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/clock.hpp>
#include <rocklock/error.hpp>
#include <rocklock/identity.hpp>
#include <rocklock/types.hpp>

#include "base/assert.hpp"

namespace rocklock {

struct FenceRequest {
    SessionId session;
    // The token of the grant on which the write relies. If none, any grant of the session that
    // covers the resource is accepted.
    std::optional<Token> token;
    // The resource that the grant must cover. If empty, a grant of any resource is accepted.
    std::string_view resource;
};

// The permission to write under a grant in mode `write` or `exclusive`. It is valid until `until`,
// as long as the version of the grant's record is `version`.
struct Fence {
    GrantId grant{};
    std::uint64_t version = 0;
    BootTime until;
    // The principal of the grant's session.
    std::string principal;
    // Whether the grant can be converted to `read` now. This is not possible if the grant has
    // permits, or if a request to convert it is waiting.
    bool downgrades = true;
};

// The principal of a session that has lost a lock, and the user that opened the session.
struct LostHolder {
    std::string principal;
    UserId uid = 0;
};

// The reason why there is no fence.
struct NoFence {
    enum class Why : std::uint8_t {
        // The grant or its session has ended; see `ended`.
        ended,
        // The grant or the session is not in the lock table. It may be in the history.
        unknown,
        // The grant belongs to another session.
        foreign,
        // The session has no lock that covers the resource in mode `write` or `exclusive`.
        not_covered,
    };
    Why why = Why::not_covered;
    std::optional<Ending> ended;
    // The holder of the ended grant, if that grant covered the resource in mode `write` or
    // `exclusive`. Otherwise, the principal is empty.
    LostHolder late{};
};

// Counts the exclusive holds, which forbid reads by clients without a lock, and records the latest
// ones that have begun or ended. A reader compares the states before and after its read to find out
// whether an exclusive hold has begun or ended in between. If there was no exclusive hold before,
// during or after the read, the reader needs no mutex for the comparison.
class ExclusiveHolds {
public:
    struct State {
        // The current number of exclusive holds.
        std::uint64_t holds = 0;
        // The number of calls of begin() and end() so far.
        std::uint64_t changes = 0;
        friend bool operator==(const State&, const State&) = default;
    };

    void begin(std::string_view resource, bool subtree) {
        ++state_.holds;
        note(resource, subtree);
    }
    void end(std::string_view resource, bool subtree) {
        ROCKLOCK_ASSERT(state_.holds > 0);
        --state_.holds;
        note(resource, subtree);
    }
    const State& state() const { return state_; }

    // Returns whether an exclusive hold that covers the resource has begun or ended since
    // State::changes had the value `changes`. Returns nullopt if this is unknown because the oldest
    // of these changes are no longer recorded.
    std::optional<bool> changed_since(std::uint64_t changes, std::string_view resource) const;

private:
    struct Change {
        std::string resource;
        bool subtree = false;
    };
    static constexpr std::size_t max_kept = 4'096;

    void note(std::string_view resource, bool subtree);

    State state_;
    // The latest changes. The newest one has the number `state_.changes`.
    std::deque<Change> kept_;
};

// Returns whether `resource` is below `above`, so that a lock on `above` with `subtree` covers it.
bool lies_below(std::string_view resource, std::string_view above);

}  // namespace rocklock
