// The stream of lock events, and the history of one resource.
//
// An event is delivered when its commit is as durable as the answer to the request must be. Events
// are delivered in the order of the decisions. A client that replays the stream therefore has the
// state of the lock table, and no event reports a grant that a crash can undo.
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
    // Another session began to wait for a resource of this grant.
    wanted,
    // A third of the session's lease is left.
    warned,
    // The mode of the grant has changed. After an upgrade, the grant also has a new token.
    converted,
    // The five ways in which a grant ends: exactly one of these events for each of its resources.
    transferred,
    released,
    expired,
    stolen,
    broken,
};

// Names of the enumerators, as above. The parser returns none if `text` is not such a name.
ROCKLOCK_API std::string_view to_string(EventType type);
ROCKLOCK_API std::optional<EventType> parse_event_type(std::string_view text);

// One event that concerns one resource of a grant.
struct LockEvent {
    // Increases from event to event by one or more, across restarts too. Below 2^53.
    std::uint64_t sequence = 0;
    EventType type = EventType::granted;
    std::string resource;
    // The grant; for `wanted`, the grant of the holder.
    GrantId grant{};
    Token token{};
    std::string principal;
    // The mode of the grant, after a conversion the new mode; for `wanted`, the requested mode.
    Mode mode = Mode::write;
    // The number of permits held, if the resource counts permits; otherwise 0.
    std::uint32_t permits = 0;
    WallTime at;
    // The principal that caused the event, or for `wanted` the one that waits. Empty if the holder
    // caused it itself or a deadline passed.
    std::string by;
    std::string reason;

    friend bool operator==(const LockEvent&, const LockEvent&) = default;
};

// The value of WatchRequest::after for receiving only events that occur after the request.
inline constexpr std::uint64_t from_now = (std::uint64_t{1} << 53) - 1;

struct WatchRequest {
    // The prefix of the resources' names, compared byte by byte.
    std::string prefix;
    // Returns events with greater sequences than this one. 0: from the oldest event that is kept.
    std::uint64_t after = 0;
    // The maximum number of events in the page: 1 to 10,000. A page also ends after 1 MB.
    std::uint32_t limit = 1000;
    // The time to wait for the first matching event. Zero: do not wait. no_limit: wait without a
    // limit.
    std::chrono::milliseconds patience{0};
};

struct EventPage {
    // In order. Empty if no event matched within `patience`.
    std::vector<LockEvent> events;
    // The `after` of the next request.
    std::uint64_t after = 0;
    // Whether events are missing between the request's `after` and this page, which then begins
    // with the oldest event that is kept. If so, a client that maintains a copy of the lock table
    // must list the locks again. Always true if `after` is from before a restart.
    bool gap = false;
};

struct HistoryRequest {
    std::string resource;
    // The maximum number of rows in the page: 1 to 1,000. A page also ends after 1 MB.
    std::uint32_t limit = 100;
    // The `next` of the previous page; empty for the first page.
    std::string next{};
};

// A grant on the resource. If it has ended, `holder` contains its last mode and token and no
// remaining time.
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
