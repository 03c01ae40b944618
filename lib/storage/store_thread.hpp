// The threads of a store.
#pragma once

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

}  // namespace rocklock
