// A thread that runs a function repeatedly: at times of the boot clock that the function
// determines, and after each call().
#pragma once

#include <functional>
#include <optional>
#include <thread>

#include <rocklock/clock.hpp>

namespace rocklock {

// Threads: thread-safe, except for start() and stop().
class WakeThread {
public:
    WakeThread();
    // Calls stop().
    ~WakeThread();
    WakeThread(const WakeThread&) = delete;
    WakeThread& operator=(const WakeThread&) = delete;

    // Runs `work` repeatedly. `work` returns the time of its next run, or nullopt to run only when
    // called.
    void start(std::function<std::optional<BootTime>()> work);
    // Runs `work` as soon as possible. If `work` is running now, it runs once more afterwards.
    void call();
    // Waits until the current run has ended, and ends the thread.
    void stop();

private:
    void run(const std::stop_token& stop,
             const std::function<std::optional<BootTime>()>& work) const;

    int called_ = -1;
    int timer_ = -1;
    std::jthread thread_;
};

}  // namespace rocklock
