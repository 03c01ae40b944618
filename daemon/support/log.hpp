// What the daemon tells whoever looks after it: one line an event, on stderr.
//
//     text    rocklock: slow wait resource=orders/42 waited=7.2s          for people
//     logfmt  time=2026-11-21T11:44:26.068Z level=warning event=slow_wait message="slow wait" ...
//     json    {"time":"...","level":"warning","event":"slow_wait","message":"slow wait",...}
//
// Names and notes of others stand in facts only, where quotes and control characters are escaped:
// nobody can forge a line.
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

// With its newline. The time stands in logfmt and json.
std::string format_event(const LogEvent& event, LogFormat format, std::string_view time);

// Where nobody reads what it writes, lines are lost, and counted, rather than waited for: the
// daemon goes on.
//
// Threads: thread-safe. A line is one write.
class Log {
public:
    explicit Log(LogFormat format = LogFormat::text, LogLevel least = LogLevel::info)
        : format_(format), min_level_(least) {}

    void write(const LogEvent& event) const ROCKLOCK_EXCLUDES(mutex_);
    bool logs(LogLevel level) const { return level >= min_level_; }

private:
    LogFormat format_;
    LogLevel min_level_;
    void write_line(const LogEvent& event) const ROCKLOCK_REQUIRES(mutex_);

    // One line at a time: each is written only where it does not wait for a reader.
    mutable Mutex mutex_;
    // Since the last that was written.
    mutable std::uint64_t lost_ ROCKLOCK_GUARDED_BY(mutex_) = 0;
};

// Lets one through in so long, or `most`, and counts the others. Threads: thread-safe.
class RateLimiter {
public:
    explicit RateLimiter(std::chrono::milliseconds period, std::uint64_t most = 1)
        : period_(period), max_(most) {}

    // How many there were since the last that was let through, with this one; 0: not this time.
    std::uint64_t let_through(std::chrono::steady_clock::time_point now);

private:
    const std::chrono::milliseconds period_;
    const std::uint64_t max_;
    std::atomic<std::int64_t> next_{INT64_MIN};
    std::atomic<std::uint64_t> through_{0};
    std::atomic<std::uint64_t> count_{0};
};

}  // namespace rocklock
