// The stream of lock events, and the history of one resource.
//
// Events are delivered in the order of the decisions that caused them. A client that applies all
// events in this order therefore knows the grants as of the last event.
//
// An event is delivered after its decision has the durability that the request requires. With
// Durability::durable (the default), a crash therefore cannot undo a grant that an event has
// reported. It can undo a reported release.
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
    // Another session began to wait for a resource of this grant, or asks to steal the grant.
    wanted,
    // A third of the session's lease is left.
    warned,
    // The grant was converted. This event is sent for each resource of the grant, including those
    // whose mode is unchanged. After an upgrade, the event contains the new token.
    converted,
    // The five events from here on report the end of the grant. They are sent for each resource of
    // the grant.
    transferred,
    released,
    expired,
    stolen,
    broken,
};

// to_string() returns the name of the enumerator as declared above. The parser returns none if
// `text` is not such a name.
ROCKLOCK_API std::string_view to_string(EventType type);
ROCKLOCK_API std::optional<EventType> parse_event_type(std::string_view text);

// One event that concerns one resource of a grant.
struct LockEvent {
    // Greater than the sequence of every earlier event, also after a restart. The sequences of
    // successive events can differ by more than one. Less than 2^53.
    std::uint64_t sequence = 0;
    EventType type = EventType::granted;
    std::string resource;
    // The grant; for `wanted`, the grant of the holder.
    GrantId grant{};
    Token token{};
    std::string principal;
    // The mode in which the grant holds the resource; for `converted`, the new mode. For `wanted`,
    // the mode that the other session requests; if it asks to steal the grant, the mode of the
    // holder.
    Mode mode = Mode::write;
    // The number of permits held, if the resource counts permits; otherwise 0.
    std::uint32_t permits = 0;
    WallTime at;
    // For `wanted` and `stolen`, the principal of the other session. For `broken`, the name of the
    // administrator, or empty if the store was restored from a backup. For `transferred`, the
    // principal that gave the grant away. Empty for all other types.
    std::string by;
    std::string reason;

    friend bool operator==(const LockEvent&, const LockEvent&) = default;
};

// A value of WatchRequest::after: only events that are published after the request are returned.
inline constexpr std::uint64_t from_now = (std::uint64_t{1} << 53) - 1;

struct WatchRequest {
    // Only events of resources whose names begin with these bytes are returned.
    std::string prefix;
    // Only events with a greater sequence are returned. 0 means all events that are kept.
    std::uint64_t after = 0;
    // The maximum number of events in the page: 1 to 10,000. A page also ends after 1 MB.
    std::uint32_t limit = 1000;
    // The maximum time to wait for the first matching event. Zero means not to wait, `no_limit`
    // (<rocklock/lock.hpp>) to wait without a limit.
    std::chrono::milliseconds patience{0};
};

struct EventPage {
    // In order of their sequences. Empty if no event matched within `patience`. If `gap` is true,
    // the request has returned without waiting, and the list can also be empty.
    std::vector<LockEvent> events;
    // The `after` of the next request.
    std::uint64_t after = 0;
    // Whether some events after WatchRequest::after are no longer kept. If so, the page begins with
    // the oldest matching event that is kept, and a client that maintains a copy of the lock table
    // must list the locks again. Always true if `after` is from before a restart of the manager.
    bool gap = false;
};

struct HistoryRequest {
    std::string resource;
    // The maximum number of rows in the page: 1 to 1,000. A page also ends after 1 MB.
    std::uint32_t limit = 100;
    // The `next` of the previous page; empty for the first page.
    std::string next{};
};

// A grant of the resource. If the grant has ended, `holder` contains its last mode and its last
// token, and `holder.remaining` is zero.
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
