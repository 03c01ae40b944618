// The threads of a store.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "base/fork.hpp"

namespace rocklock {

// Threads:  one thread at a time may call the functions.
// Lifetime: the owner must call stop() before the destructor. The thread does not exist in a forked
//           child of the process, where stop() only makes the destruction possible.
class StoreThread {
public:
    StoreThread() = default;
    StoreThread(const StoreThread&) = delete;
    StoreThread& operator=(const StoreThread&) = delete;

    bool started() const { return thread_.joinable(); }
    // Must not be called again before stop().
    void start(std::function<void()> run) { thread_ = std::thread(std::move(run)); }

    // Calls `request`, after which `run` must return, and waits for the end of the thread. Does
    // nothing if the thread was not started.
    void stop(const std::function<void()>& request) {
        if (!started()) return;
        if (fork_check_.in_child()) {
            // Another thread of the child can have the handle, so it is not detached.
            std::construct_at(&thread_);
            return;
        }
        request();
        thread_.join();
    }

private:
    ForkCheck fork_check_;
    std::thread thread_;
};

// Yields the processor often during a long computation in the background. The yields take at most
// half of the time.
//
// A thread that computes without waiting can keep its processor for 4 ms, until the next tick of
// the scheduler, even if a thread that serves a caller is ready to run there. If other programs
// compute, however, each yield can take several milliseconds, and a flush that never ends would
// block all commits. See docs/decisions/0068-background-work-yields.md.
//
// Threads: one at a time.
class FrequentYield {
public:
    // Yields at every 64th call, unless the time since the last yield is shorter than that yield.
    void step() {
        if (++steps_ % 64 != 0) return;
        const auto start = std::chrono::steady_clock::now();
        if (start < next_) return;
        std::this_thread::yield();
        const auto end = std::chrono::steady_clock::now();
        next_ = end + (end - start);
    }

private:
    unsigned steps_ = 0;
    std::chrono::steady_clock::time_point next_{};
};

}  // namespace rocklock
