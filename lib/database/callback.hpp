// What a session calls its owner back with.
#pragma once

#include <functional>
#include <utility>

#include "base/mutex.hpp"

namespace rocklock {

// Whether a callback is running in this thread: it cannot wait for itself.
inline thread_local bool in_callback = false;

// Its owner may set another one, or none, at any time: what was set before does not run any more
// then, so that what it refers to may go. Threads: thread-safe; the callback itself runs with no
// mutex held, and may call anything of its session.
template <typename What>
class Callback {
public:
    // Waits for calls that are under way, unless this is called back itself.
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
    // One call under way. A callback may throw where its owner's own thread calls it.
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
