// A request to stop that another thread makes.
#pragma once

#include <functional>
#include <utility>

#include "base/mutex.hpp"

namespace rocklock {

// Threads: thread-safe.
class StopRequest {
public:
    // Calls `stop` when the request is made, or at once if it was made already. nullptr removes the
    // function; it is then not running any more.
    void on_request(std::function<void()> stop) {
        MutexLock lock(mutex_);
        stop_ = std::move(stop);
        if (requested_ && stop_) stop_();
    }
    void request() {
        MutexLock lock(mutex_);
        if (std::exchange(requested_, true)) return;
        if (stop_) stop_();
    }
    bool requested() const {
        MutexLock lock(mutex_);
        return requested_;
    }

private:
    mutable Mutex mutex_;
    bool requested_ ROCKLOCK_GUARDED_BY(mutex_) = false;
    std::function<void()> stop_ ROCKLOCK_GUARDED_BY(mutex_);
};

}  // namespace rocklock
