// The events of Watch as a stream that has no end, in the form that browsers know
// (text/event-stream).
//
//     GET /events?prefix=orders/&after=1234
//
//     id: 1240
//     event: granted
//     data: {"Sequence":1240,"Type":"granted","Resource":"orders/42",...}
//
// Knows no connection. Whoever drives it asks for one page of events at a time, and for the next
// one when that has been sent: a slow reader makes nothing pile up.
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
    // From the target of a request, and its header Last-Event-ID, which counts before `after`: a
    // browser that connects again goes on where it was. Errors: invalid_argument.
    static Result<EventStream> open(std::string_view target, std::string_view last_event_id);

    // What the stream begins with, before its first page.
    static std::string head();

    // What to ask for next.
    WatchRequest next() const;
    // What a page looks like; moves on behind it. An empty one is a comment, so that the reader
    // hears something, and a connection that is dead is found out.
    std::string page(const EventPage& page);
    // The last words, with the reason.
    static std::string last_words(const Error& error);

private:
    EventStream(std::string prefix, std::uint64_t after)
        : prefix_(std::move(prefix)), after_(after) {}

    std::string prefix_;
    std::uint64_t after_ = 0;
};

}  // namespace rocklock
