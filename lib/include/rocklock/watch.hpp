// What happens to locks, as it happens and as it was: the stream of events, and the history of one
// resource.
//
// An event is told once its commit is as durable as the answer of its verb has to be, and in the
// order in which things were decided. So whoever replays the stream has the table, and nobody is
// told of a grant that a crash takes back.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/clock.hpp>
#include <rocklock/error.hpp>
#include <rocklock/export.hpp>
#include <rocklock/types.hpp>

namespace rocklock {

enum class EventType : std::uint8_t {
    granted,
    // Somebody began to wait for what this grant holds.
    wanted,
    // The lease of its session has come down to the last third of it.
    warned,
    // To another mode, and upward with another token.
    converted,
    // The five ends of a grant: exactly one of them for each of its resources.
    transferred,
    released,
    expired,
    stolen,
    broken,
};

ROCKLOCK_API std::string_view to_string(EventType type);
ROCKLOCK_API std::optional<EventType> parse_event_type(std::string_view text);

// One thing that happened to one resource of a grant.
struct LockEvent {
    // Rises from event to event, by one or more, over restarts too; below 2^53.
    std::uint64_t sequence = 0;
    EventType type = EventType::granted;
    std::string resource;
    // Whose grant it is; of `wanted` the holder's.
    GrantId grant{};
    Token token{};
    std::string principal;
    // As it is held, after a conversion the new one; of `wanted` the mode that is waited for.
    Mode mode = Mode::write;
    // How many permits of it are held, where it is counted; else 0.
    std::uint32_t permits = 0;
    WallTime at;
    // Who did it, or who wants it; empty for the principal itself, and for time.
    std::string by;
    std::string reason;

    friend bool operator==(const LockEvent&, const LockEvent&) = default;
};

// For WatchRequest::after: what happens from now on.
inline constexpr std::uint64_t from_now = (std::uint64_t{1} << 53) - 1;

struct WatchRequest {
    // Compared with bytes.
    std::string prefix;
    // Events above this one. 0: from the oldest that is kept.
    std::uint64_t after = 0;
    // How many that match, at most: 1 to 10,000.
    std::uint32_t limit = 1000;
    // How long to wait for the first that matches. Zero: not at all. no_limit: for ever.
    std::chrono::milliseconds patience{0};
};

struct EventPage {
    // In order. Empty when patience ended first.
    std::vector<LockEvent> events;
    // Where to go on.
    std::uint64_t after = 0;
    // Events above the `after` of the request are not known here any more, or never were: the page
    // begins with the oldest that is kept, and whoever follows the table looks at it anew. Always
    // so for an `after` of before a restart.
    bool gap = false;
};

struct HistoryRequest {
    std::string resource;
    // 1 to 1,000.
    std::uint32_t limit = 100;
    // What the page before gave as `next`; empty at first.
    std::string next{};
};

// A grant on the resource. One that has ended shows its last mode and token, and no time left.
struct HistoryRow {
    Holder holder;
    std::optional<Ending> ended;
};

struct HistoryPage {
    // Newest first.
    std::vector<HistoryRow> rows;
    // Empty on the last page.
    std::string next;
};

}  // namespace rocklock
