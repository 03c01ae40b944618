#include "daemon/support/log.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <climits>

#include <rocklock/clock.hpp>

#include "base/time_format.hpp"
#include "wire/json/json_writer.hpp"

namespace rocklock {
namespace {

std::string_view word(LogLevel level) {
    constexpr std::array<std::string_view, 4> words = {"debug", "info", "warning", "error"};
    return words.at(static_cast<std::size_t>(level));
}

// Appends the value, in quotes and escaped if it contains special characters.
void append_value(std::string& line, std::string_view value) {
    constexpr std::string_view hex = "0123456789abcdef";
    bool plain = !value.empty();
    for (const char letter : value) {
        const auto byte = static_cast<unsigned char>(letter);
        plain = plain && byte > 0x20 && byte < 0x7F && byte != '"' && byte != '=' && byte != '\\';
    }
    if (plain) {
        line += value;
        return;
    }
    line += '"';
    for (std::size_t i = 0; i < value.size(); ++i) {
        const auto byte = static_cast<unsigned char>(value[i]);
        // In UTF-8, the control characters U+0080 to U+009F begin with the byte 0xC2.
        const auto next = i + 1 < value.size() ? static_cast<unsigned char>(value[i + 1]) : 0U;
        const bool control = byte < 0x20 || byte == 0x7F || (byte == 0xC2 && next < 0xA0);
        if (byte == '"' || byte == '\\') {
            line += '\\';
            line += value[i];
        } else if (byte == '\n') {
            line += "\\n";
        } else if (control) {
            line += "\\x";
            line += hex[byte >> 4];
            line += hex[byte & 0xF];
            if (byte == 0xC2) {
                line += "\\x";
                line += hex[next >> 4];
                line += hex[next & 0xF];
                ++i;
            }
        } else {
            line += value[i];
        }
    }
    line += '"';
}

std::string as_json(const LogEvent& event, std::string_view time) {
    JsonWriter json;
    json.begin_object();
    json.key("time");
    json.string(time);
    json.key("level");
    json.string(word(event.level));
    json.key("event");
    json.string(event.event);
    json.key("message");
    json.string(event.message);
    for (const auto& fact : event.facts) {
        json.key(fact.name);
        if (fact.number) {
            json.number(*fact.number);
        } else {
            json.string(fact.value);
        }
    }
    json.end_object();
    return json.take();
}

// Returns the event with shortened facts. The line then fits into one write, even if each byte that
// a client has chosen is written as six bytes.
LogEvent shortened(LogEvent event) {
    constexpr std::size_t max_value_bytes = 96;
    for (auto& fact : event.facts) {
        if (fact.value.size() <= max_value_bytes) continue;
        auto end = max_value_bytes;
        // Do not cut within a character.
        while (end > 0 && (static_cast<unsigned char>(fact.value[end]) & 0xC0) == 0x80) --end;
        fact.value = fact.value.substr(0, end) + "...";
    }
    return event;
}

}  // namespace

std::string format_event(const LogEvent& event, LogFormat format, std::string_view time) {
    if (format == LogFormat::json) return as_json(event, time) + "\n";
    std::string line;
    if (format == LogFormat::text) {
        line = "rocklock: " + event.message;
    } else {
        line = "time=" + std::string(time) + " level=" + std::string(word(event.level)) +
               " event=" + std::string(event.event) + " message=";
        append_value(line, event.message);
    }
    for (const auto& fact : event.facts) {
        line += ' ';
        line += fact.name;
        line += '=';
        append_value(line, fact.value);
    }
    return line + "\n";
}

void Log::write(const LogEvent& event) const {
    if (!logs(event.level)) return;
    MutexLock lock(mutex_);
    if (lost_ > 0) {
        write_line({LogLevel::warning,
                    "log_lost",
                    "the reader of the log was too slow, and lines were lost",
                    {{"lines", lost_}}});
    }
    write_line(event);
}

void Log::reopen() {
    const MutexLock lock(mutex_);
    if (file_ != nullptr) file_->reopen();
}

// Writes the line if stderr accepts it without blocking, and counts it as lost otherwise. A pipe
// that is writable accepts PIPE_BUF bytes.
void Log::write_line(const LogEvent& event) const {
    pollfd reader{STDERR_FILENO, POLLOUT, 0};
    if (::poll(&reader, 1, 0) == 0) {
        ++lost_;
        return;
    }
    const auto time = format_time(system_clock().now().wall);
    auto line = format_event(event, format_, time);
    if (line.size() > PIPE_BUF) line = format_event(shortened(event), format_, time);
    if (file_ != nullptr) file_->make_room(line.size());
    [[maybe_unused]] const auto size = ::write(STDERR_FILENO, line.data(), line.size());
    if (event.event == "log_lost") lost_ = 0;
}

std::uint64_t RateLimiter::let_through(std::chrono::steady_clock::time_point now) {
    ++count_;
    const auto moment =
        std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
    auto next = next_.load();
    if (moment >= next && next_.compare_exchange_strong(next, moment + period_.count())) {
        through_ = 0;
    }
    return through_++ < max_ ? count_.exchange(0) : 0;
}

}  // namespace rocklock
