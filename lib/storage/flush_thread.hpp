// Calls a function on a thread of its own, on request, and when a store has not been written for a
// while: between one and two quiet times after the last write. The function writes the records of
// the store that are only in memory and in the log to table files.
//
// request() makes the thread call the function in each state.
//
//                  wrote()
//     resting ─────────────────► watching: checks after each quiet time whether the store
//        ▲                          │       was written meanwhile
//        └─────── flush() ◄─────────┘ it was not
//
// Without the calls for an idle store, the records of a store with few writes would stay in memory,
// and an open after a crash would have to read them from the log.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>

#include "base/mutex.hpp"
#include "storage/store_thread.hpp"

namespace rocklock {

// Threads:  one thread at a time may call start(), stop() or the destructor. Other threads may
//           call wrote() and request() at the same time.
// Lifetime: in a forked child of the process, only stop() and the destructor may be called, and
//           they have no effect.
class FlushThread {
public:
    static constexpr std::chrono::milliseconds default_quiet_time{1000};

    // `flush` is called on a thread of this object.
    explicit FlushThread(std::function<void()> flush,
                         std::chrono::milliseconds quiet_time = default_quiet_time)
        : flush_(std::move(flush)), quiet_time_(quiet_time) {}
    FlushThread(const FlushThread&) = delete;
    FlushThread& operator=(const FlushThread&) = delete;
    ~FlushThread() { stop(); }

    void start();
    // Waits until a running call of `flush` has returned. There are no further calls.
    void stop();

    // Makes the thread call `flush`, after a running call has returned. Requests before this call
    // are combined.
    void request() ROCKLOCK_EXCLUDES(mutex_);
    // Must be called after each write to the store, by one thread at a time.
    void wrote() {
        writes_.store(writes_.load(std::memory_order_relaxed) + 1);
        if (!watching_.load()) watch();
    }

private:
    void watch() ROCKLOCK_EXCLUDES(mutex_);
    void run() ROCKLOCK_EXCLUDES(mutex_);

    const std::function<void()> flush_;
    const std::chrono::milliseconds quiet_time_;
    // The number of writes.
    std::atomic<std::uint64_t> writes_{0};
    // Changed only with the mutex held.
    std::atomic<bool> watching_{false};
    Mutex mutex_;
    CondVar changed_;
    bool requested_ ROCKLOCK_GUARDED_BY(mutex_) = false;
    bool stopping_ ROCKLOCK_GUARDED_BY(mutex_) = false;
    StoreThread thread_;
};

}  // namespace rocklock
