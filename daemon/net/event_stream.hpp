// The events of Watch as a stream of server-sent events (text/event-stream), which browsers read
// with EventSource.
//
//     GET /events?prefix=orders/&after=1234
//
//     id: 1240
//     event: granted
//     data: {"Sequence":1240,"Type":"granted","Resource":"orders/42",...}
//
// This class does no I/O. The caller requests one page of events at a time. It requests the next
// page after the previous page was sent, so that events do not accumulate for a slow reader.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <rocklock/error.hpp>
#include <rocklock/result.hpp>
#include <rocklock/watch.hpp>

namespace rocklock {

class EventStream {
public:
    // Parses the target of a request and its header Last-Event-ID. The header has precedence over
    // `after`, so that a browser that reconnects continues at its last event. Errors:
    // invalid_argument if the target or the header is malformed.
    static Result<EventStream> open(std::string_view target, std::string_view last_event_id);

    // Returns the header of the response and the beginning of the stream.
    static std::string head();

    // Returns the request for the next page.
    WatchRequest next() const;
    // Returns the text of a page, and advances the position to its end. An empty page becomes a
    // comment of the event stream. Because of this regular output, the daemon notices a dead
    // connection.
    std::string page(const EventPage& page);
    // Returns the text of the last event of the stream, which contains the reason for the end of
    // the stream.
    static std::string end_event(const Error& error);

private:
    EventStream(std::string prefix, std::uint64_t after)
        : prefix_(std::move(prefix)), after_(after) {}

    std::string prefix_;
    std::uint64_t after_ = 0;
};

}  // namespace rocklock
