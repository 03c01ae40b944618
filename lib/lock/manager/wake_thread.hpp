// A thread that sleeps until a moment of the boot clock, or until it is called.
#pragma once

#include <functional>
#include <optional>
#include <thread>

#include <rocklock/clock.hpp>

namespace rocklock {

// Threads: thread-safe, but for start and stop.
class WakeThread {
public:
    WakeThread();
    // Stops.
    ~WakeThread();
    WakeThread(const WakeThread&) = delete;
    WakeThread& operator=(const WakeThread&) = delete;

    // Runs `work` again and again: it returns when it wants to be run next; none for only when
    // called.
    void start(std::function<std::optional<BootTime>()> work);
    // Runs the work soon, if it is not running; once more if it is.
    void call();
    // Waits for the work at hand, and ends.
    void stop();

private:
    void run(const std::stop_token& stop,
             const std::function<std::optional<BootTime>()>& work) const;

    int called_ = -1;
    int timer_ = -1;
    std::jthread thread_;
};

}  // namespace rocklock
