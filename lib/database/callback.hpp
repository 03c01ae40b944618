// A replaceable callback of a session.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "base/mutex.hpp"

namespace rocklock {

// Whether this thread is running a callback. If so, the thread must not wait until running
// callbacks have returned, because it would wait for itself.
inline thread_local bool in_callback = false;

// A callback that can be replaced or removed at any time. After set() has returned, the old
// function does not run any more, and the objects that it uses may be destroyed. The exception is a
// call of set() within a callback: the old function may then still run.
//
// Threads: thread-safe. The callback runs without a mutex and may call any function of its session.
template <typename What>
class Callback {
public:
    // Replaces the function; an empty function removes it. Waits until running calls of the old
    // function have returned, unless set() is called within a callback.
    void set(std::function<void(What)> callback) {
        MutexLock lock(mutex_);
        callback_.swap(callback);
        while (running_ > 0 && !in_callback) over_.wait(mutex_);
    }

    void operator()(What what) {
        std::optional<Running> running;
        // Declared after `running`, and therefore destroyed before it. When `running` is destroyed,
        // set() can return in another thread, and its caller can then destroy objects that the
        // captures of the function refer to.
        std::function<void(What)> callback;
        {
            MutexLock lock(mutex_);
            if (!callback_) return;
            callback = callback_;
            ++running_;
            running.emplace(*this);
        }
        callback(what);
    }

private:
    // Marks a call as running. The destructor removes the mark, even if the callback throws an
    // exception. The exception can reach a caller of Database::tick() or close(), which run
    // callbacks, and the caller can catch it.
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
