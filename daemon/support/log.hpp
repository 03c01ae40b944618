// The log of the daemon: one line per event, on stderr.
//
//     text    rocklock: slow wait resource=orders/42 waited=7.2s          for people
//     logfmt  time=2026-11-21T11:44:26.068Z level=warning event=slow_wait message="slow wait" ...
//     json    {"time":"...","level":"warning","event":"slow_wait","message":"slow wait",...}
//
// Text from clients, such as names and notes, appears only as the value of a fact
// (`resource=orders/42`). Quotes and control characters in these values are escaped, so that a
// client cannot forge a line.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/mutex.hpp"
#include "daemon/support/log_file.hpp"
#include "service/log_event.hpp"

namespace rocklock {

enum class LogFormat : std::uint8_t { text, logfmt, json };

// Returns the line with its newline. The format `text` does not contain the time.
std::string format_event(const LogEvent& event, LogFormat format, std::string_view time);

// The daemon never waits for the reader of the output. If the reader is too slow, lines are
// discarded and counted.
//
// Threads: thread-safe. Each line is written with one write().
class Log {
public:
    // If `file` is not null, stderr is that file, and the log rotates it.
    explicit Log(LogFormat format = LogFormat::text, LogLevel min_level = LogLevel::info,
                 std::unique_ptr<LogFile> file = nullptr)
        : format_(format), min_level_(min_level), file_(std::move(file)) {}

    void write(const LogEvent& event) const ROCKLOCK_EXCLUDES(mutex_);
    bool logs(LogLevel level) const { return level >= min_level(); }
    LogLevel min_level() const { return min_level_.load(std::memory_order_relaxed); }
    void set_min_level(LogLevel level) { min_level_ = level; }
    // Opens the log file again, in case another program has renamed it. Has no effect if the log is
    // not in a file.
    void reopen() ROCKLOCK_EXCLUDES(mutex_);

private:
    const LogFormat format_;
    std::atomic<LogLevel> min_level_;
    void write_line(const LogEvent& event) const ROCKLOCK_REQUIRES(mutex_);

    // Held while a thread checks whether stderr accepts a line without blocking, and then writes
    // the line. If another thread could write in between, the write could block.
    mutable Mutex mutex_;
    const std::unique_ptr<LogFile> file_ ROCKLOCK_PT_GUARDED_BY(mutex_);
    // The number of lines lost since the last one that was written.
    mutable std::uint64_t lost_ ROCKLOCK_GUARDED_BY(mutex_) = 0;
};

// In each period, lets at most `max_events` events through, and counts the others. Threads:
// thread-safe.
class RateLimiter {
public:
    explicit RateLimiter(std::chrono::milliseconds period, std::uint64_t max_events = 1)
        : period_(period), max_(max_events) {}

    // Returns 0 if this event is suppressed. Otherwise, returns the number of events since the
    // previous one that was let through. This number includes the current event.
    std::uint64_t let_through(std::chrono::steady_clock::time_point now);

private:
    const std::chrono::milliseconds period_;
    const std::uint64_t max_;
    std::atomic<std::int64_t> next_{INT64_MIN};
    std::atomic<std::uint64_t> through_{0};
    std::atomic<std::uint64_t> count_{0};
};

}  // namespace rocklock
