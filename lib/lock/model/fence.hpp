// Fences: what lets a write of data in, and what keeps a plain read out.
//
// A write shows which grant it believes in. The table says whether that lives and covers what is
// written, and what must still be so as the write is committed: then no holder that was paused,
// robbed or cut off can write, however long that took.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/clock.hpp>
#include <rocklock/error.hpp>
#include <rocklock/types.hpp>

namespace rocklock {

struct FenceRequest {
    SessionId session;
    // Of the grant that is believed in; none: whichever of the session's covers the resource.
    std::optional<Token> token;
    // What is written; empty: not said, so any of the grant's.
    std::string_view resource;
};

// A live grant in `write` or `exclusive`. It is so as long as its record has the version, and until
// the moment.
struct Fence {
    GrantId grant{};
    std::uint64_t version = 0;
    BootTime until;
    // Whose session it is.
    std::string principal;
    // Whether it can be converted to `read` now: it has locks alone, and no conversion waits.
    bool downgrades = true;
};

// Why there is none.
struct NoFence {
    enum class Why : std::uint8_t {
        // The grant or its session has ended: `ended`.
        ended,
        // The grant is not in the table: the history has it, or nobody.
        unknown,
        // The grant is another session's.
        foreign,
        // The session holds nothing that covers the resource in a mode that writes.
        not_covered,
    };
    Why why = Why::not_covered;
    std::optional<Ending> ended;
    // Whose it was, of a grant that covered the resource in a mode that writes; else empty.
    std::string late{};
};

// What keeps plain reads out. Kept so that a reader can tell whether there was anything between two
// moments, without a mutex where there was nothing at all.
class ExclusiveHolds {
public:
    // At one moment: how many there are, and how many have begun or ended until then.
    struct State {
        std::uint64_t holds = 0;
        std::uint64_t changes = 0;
        friend bool operator==(const State&, const State&) = default;
    };

    void begin(std::string_view resource, bool subtree) {
        ++state_.holds;
        note(resource, subtree);
    }
    void end(std::string_view resource, bool subtree) {
        --state_.holds;
        note(resource, subtree);
    }
    const State& state() const { return state_; }

    // Whether one that covers the resource has begun or ended since; nothing if that is not known
    // any more.
    std::optional<bool> changed_since(std::uint64_t changes, std::string_view resource) const;

private:
    struct Change {
        std::string resource;
        bool subtree = false;
    };
    static constexpr std::size_t max_kept = 4'096;

    void note(std::string_view resource, bool subtree);

    State state_;
    // The last ones; the newest has the number `state_.changes`.
    std::deque<Change> kept_;
};

// Whether a lock on `above` with `subtree` covers `resource`.
bool lies_below(std::string_view resource, std::string_view above);

}  // namespace rocklock
