// Lets other threads run during a long computation in the background.
#pragma once

#include <chrono>
#include <functional>
#include <thread>
#include <utility>

namespace rocklock {

// Yields the processor often. The yields take at most half of the time.
//
// A thread that computes without waiting can keep its processor for 4 ms, until the next tick of
// the scheduler, even if a thread that serves a caller is ready to run there. If other programs
// compute, however, each yield can take several milliseconds, and a flush that never ends would
// block all commits. See docs/decisions/0068-background-work-yields.md.
//
// Threads: one at a time.
template <typename Clock>
class BasicFrequentYield {
public:
    explicit BasicFrequentYield(std::function<void()> yield = std::this_thread::yield)
        : yield_(std::move(yield)) {}

    // Yields at every 64th call, unless the time since the last yield is shorter than that yield.
    void step() {
        if (++steps_ % 64 != 0) return;
        const auto start = Clock::now();
        if (start < next_) return;
        yield_();
        const auto end = Clock::now();
        next_ = end + (end - start);
    }

private:
    const std::function<void()> yield_;
    unsigned steps_ = 0;
    typename Clock::time_point next_{};
};

using FrequentYield = BasicFrequentYield<std::chrono::steady_clock>;

}  // namespace rocklock
