// A replaceable callback of a session.
#pragma once

#include <functional>
#include <utility>

#include "base/mutex.hpp"

namespace rocklock {

// Whether this thread is running a callback. Such a thread must not wait until running callbacks
// have returned, because it would wait for itself.
inline thread_local bool in_callback = false;

// A callback that can be replaced or removed at any time. After set() has returned, the old
// function does not run any more, and the objects that it uses may be destroyed. If set() is called
// within a callback, the old function may still run.
//
// Threads: thread-safe. The callback runs without a mutex and may call any function of its session.
template <typename What>
class Callback {
public:
    // Waits until running calls of the old function have returned, unless it is called within a
    // callback.
    void set(std::function<void(What)> callback) {
        MutexLock lock(mutex_);
        callback_.swap(callback);
        while (running_ > 0 && !in_callback) over_.wait(mutex_);
    }

    void operator()(What what) {
        std::function<void(What)> callback;
        {
            MutexLock lock(mutex_);
            if (!callback_) return;
            callback = callback_;
            ++running_;
        }
        const Running running(*this);
        callback(what);
    }

private:
    // Marks a call as running. The destructor removes the mark, also if the callback throws an
    // exception, which is possible on a thread of the owner.
    class Running {
    public:
        explicit Running(Callback& called) : called_(called) {}
        Running(const Running&) = delete;
        Running& operator=(const Running&) = delete;
        ~Running() {
            in_callback = before_;
            MutexLock lock(called_.mutex_);
            --called_.running_;
            called_.over_.notify_all();
        }

    private:
        Callback& called_;
        const bool before_ = std::exchange(in_callback, true);
    };

    Mutex mutex_;
    CondVar over_;
    std::function<void(What)> callback_ ROCKLOCK_GUARDED_BY(mutex_);
    int running_ ROCKLOCK_GUARDED_BY(mutex_) = 0;
};

}  // namespace rocklock
