// The log of the daemon: one line per event, on stderr.
//
//     text    rocklock: slow wait resource=orders/42 waited=7.2s          for people
//     logfmt  time=2026-11-21T11:44:26.068Z level=warning event=slow_wait message="slow wait" ...
//     json    {"time":"...","level":"warning","event":"slow_wait","message":"slow wait",...}
//
// Text from clients, such as names and notes, appears in facts only. Quotes and control characters
// in facts are escaped, so that a client cannot forge a line.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/mutex.hpp"
#include "service/log_event.hpp"

namespace rocklock {

enum class LogFormat : std::uint8_t { text, logfmt, json };

// Returns the line with its newline. The format `text` does not contain the time.
std::string format_event(const LogEvent& event, LogFormat format, std::string_view time);

// If the reader of the output is too slow, lines are discarded and counted: the daemon never waits
// for it.
//
// Threads: thread-safe. Each line is written with one write().
class Log {
public:
    explicit Log(LogFormat format = LogFormat::text, LogLevel min_level = LogLevel::info)
        : format_(format), min_level_(min_level) {}

    void write(const LogEvent& event) const ROCKLOCK_EXCLUDES(mutex_);
    bool logs(LogLevel level) const { return level >= min_level_; }

private:
    LogFormat format_;
    LogLevel min_level_;
    void write_line(const LogEvent& event) const ROCKLOCK_REQUIRES(mutex_);

    // Held while a line is written: a line is discarded if the pipe has no room for it, and no
    // other thread may write between this check and the write.
    mutable Mutex mutex_;
    // The number of lines lost since the last one that was written.
    mutable std::uint64_t lost_ ROCKLOCK_GUARDED_BY(mutex_) = 0;
};

// Lets at most `max_events` events per period through, and counts the others. Threads: thread-safe.
class RateLimiter {
public:
    explicit RateLimiter(std::chrono::milliseconds period, std::uint64_t max_events = 1)
        : period_(period), max_(max_events) {}

    // Returns 0 if this event is suppressed. Otherwise returns the number of events since the
    // previous one that was let through, including this one.
    std::uint64_t let_through(std::chrono::steady_clock::time_point now);

private:
    const std::chrono::milliseconds period_;
    const std::uint64_t max_;
    std::atomic<std::int64_t> next_{INT64_MIN};
    std::atomic<std::uint64_t> through_{0};
    std::atomic<std::uint64_t> count_{0};
};

}  // namespace rocklock
