// A progress bar for long operations.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

namespace rocklock {

// Prints the bar to stderr if stderr is a terminal; otherwise prints nothing. The destructor erases
// the bar.
//
// Threads: set() is thread-safe.
class ProgressBar {
public:
    explicit ProgressBar(std::string what);
    ProgressBar(const ProgressBar&) = delete;
    ProgressBar& operator=(const ProgressBar&) = delete;
    ~ProgressBar();

    void set(std::uint64_t done, std::uint64_t whole);

private:
    const std::string what_;
    const bool shown_;
    std::atomic<int> percent_{-1};
};

// Calls `tick` ten times per second on a thread of its own until the object is destroyed.
class Ticker {
public:
    explicit Ticker(std::function<void()> tick);
    Ticker(const Ticker&) = delete;
    Ticker& operator=(const Ticker&) = delete;

private:
    std::jthread thread_;
};

}  // namespace rocklock
