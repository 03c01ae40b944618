// Lets a thread spin before it sleeps, which means to yield the processor and to poll repeatedly.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace rocklock {

// If other programs compete for the processors, a yield returns only after milliseconds, but a
// sleeping thread runs as soon as it is woken. After a yield of more than `long_yield`, the thread
// therefore does not spin for a pause. The pause is short, because most delays are short: another
// thread works for a moment. It doubles if the next long yield comes soon.
//
// Threads: one at a time.
class SpinBackoff {
public:
    using Time = std::chrono::steady_clock::time_point;
    static constexpr std::chrono::milliseconds long_yield{1};
    static constexpr std::chrono::milliseconds min_pause{16};
    static constexpr std::chrono::milliseconds max_pause{1024};

    bool may_spin(Time now) const { return now >= until_; }

    // Must be called after each yield, with the times before and after it.
    void yielded(Time before, Time after) {
        // The last pause ended longer ago than the next one would last.
        if (before - until_ > pause_) pause_ = min_pause;
        if (after - before > long_yield) {
            until_ = after + pause_;
            pause_ = std::min(2 * pause_, max_pause);
        }
    }

    // Yields the processor and calls `poll`, until `poll` returns true or `max_spin` has passed
    // since `start`, which is the present time. Does nothing during a pause, or if the machine has
    // only one processor. Returns the time at the end.
    template <typename Poll>
    Time spin(Time start, std::chrono::microseconds max_spin, Poll poll) {
        static const bool has_others = std::thread::hardware_concurrency() > 1;
        Time now = start;
        if (!has_others || !may_spin(start)) return now;
        for (bool done = false; !done && now - start < max_spin;) {
            std::this_thread::yield();
            done = poll();
            const Time before = std::exchange(now, std::chrono::steady_clock::now());
            yielded(before, now);
        }
        return now;
    }

private:
    // No spinning before this time.
    Time until_{};
    // The duration of the next pause.
    std::chrono::milliseconds pause_ = min_pause;
};

}  // namespace rocklock
