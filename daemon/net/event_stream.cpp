#include "daemon/net/event_stream.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <utility>

#include "daemon/http/http_answer.hpp"
#include "wire/call_json.hpp"

namespace rocklock {
namespace {

// A page is formatted on the connection's thread, so it must take little time.
constexpr std::uint32_t page_events = 32;
constexpr std::chrono::seconds keep_alive{15};

int digit_of(char letter) {
    if (letter >= '0' && letter <= '9') return letter - '0';
    if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
    if (letter >= 'A' && letter <= 'F') return letter - 'A' + 10;
    return -1;
}

// Decodes a part of a query. Returns nullopt if its encoding is invalid.
std::optional<std::string> decoded(std::string_view text) {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '+') {
            result += ' ';
        } else if (text[i] != '%') {
            result += text[i];
        } else {
            const int high = i + 2 < text.size() ? digit_of(text[i + 1]) : -1;
            const int low = i + 2 < text.size() ? digit_of(text[i + 2]) : -1;
            if (high < 0 || low < 0) return std::nullopt;
            result += static_cast<char>(high * 16 + low);
            i += 2;
        }
    }
    return result;
}

std::optional<std::uint64_t> number_in(std::string_view text) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size() ||
        number >= (1ULL << 53)) {
        return std::nullopt;
    }
    return number;
}

Error wrong(const std::string& why) {
    return {ErrorCode::invalid_argument, why + "; write /events?prefix=orders/&after=1234"};
}

}  // namespace

Result<EventStream> EventStream::open(std::string_view target, std::string_view last_event_id) {
    std::string prefix;
    std::uint64_t after = 0;
    const auto mark = target.find('?');
    auto query = mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
    while (!query.empty()) {
        const auto part = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(query.size(), part.size() + 1));
        const auto equals = part.find('=');
        const auto name = part.substr(0, equals);
        auto value = decoded(equals == std::string_view::npos ? "" : part.substr(equals + 1));
        if (!value) return wrong("the query is not correctly percent-encoded");
        if (name == "prefix") {
            prefix = *std::move(value);
        } else if (const auto number = number_in(*value); name == "after" && number) {
            after = *number;
        } else {
            return wrong(name == "after" ? "after is not a sequence number"
                                         : "the query has only prefix and after");
        }
    }
    if (!last_event_id.empty()) {
        const auto number = number_in(last_event_id);
        if (!number) return wrong("Last-Event-ID is not a sequence number");
        after = *number;
    }
    return EventStream(std::move(prefix), after);
}

std::string EventStream::head() {
    return "HTTP/1.1 200 OK\r\n"
           "Content-Type: text/event-stream\r\n" +
           std::string(date_line()) +
           "Cache-Control: no-store\r\n"
           "X-Content-Type-Options: nosniff\r\n"
           "Connection: close\r\n\r\n"
           "retry: 1000\n: events of rocklock\n\n";
}

WatchRequest EventStream::next() const {
    WatchRequest request;
    request.prefix = prefix_;
    request.after = after_;
    request.limit = page_events;
    request.patience = keep_alive;
    return request;
}

std::string EventStream::page(const EventPage& page) {
    std::string text;
    after_ = page.after;
    const auto id = "id: " + std::to_string(after_) + "\n";
    if (page.gap) {
        // The event has no id. If the connection ends here, the reader therefore gets the gap again
        // after it reconnects.
        text += "event: gap\ndata: {\"After\":" + std::to_string(page.after) + "}\n\n";
    }
    for (const auto& event : page.events) {
        text += "id: " + std::to_string(event.sequence) +
                "\nevent: " + std::string(to_string(event.type)) + "\ndata: " + write_value(event) +
                "\n\n";
    }
    // The id lets a reader that reconnects skip events that do not match the prefix.
    if (page.events.empty()) text += ": nothing new\n" + id + "\n";
    return text;
}

std::string EventStream::end_event(const Error& error) {
    return "event: end\ndata: " + write_error(error) + "\n\n";
}

}  // namespace rocklock
