// A line that fills while something long goes on.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

namespace rocklock {

// On stderr, if that is a terminal; elsewhere nothing is shown. The line is gone when this is.
//
// Threads: set() may be called on any.
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

// Calls `look` some times a second, on a thread of its own, until it ends.
class Ticker {
public:
    explicit Ticker(std::function<void()> look);
    Ticker(const Ticker&) = delete;
    Ticker& operator=(const Ticker&) = delete;

private:
    std::jthread thread_;
};

}  // namespace rocklock
