#include "storage/idle_flush.hpp"

#include <memory>

namespace rocklock {

void IdleFlush::start() {
    thread_ = std::thread([this] { run(); });
}

void IdleFlush::stop() {
    if (!thread_.joinable()) return;
    // The thread does not exist in a child of the process, where another thread can have its
    // handle.
    if (fork_check_.in_child()) {
        std::construct_at(&thread_);
        return;
    }
    {
        const MutexLock lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void IdleFlush::watch() {
    {
        const MutexLock lock(mutex_);
        watching_.store(true);
    }
    changed_.notify_all();
}

void IdleFlush::run() {
    MutexLock lock(mutex_);
    while (!stopping_) {
        if (!watching_.load()) {
            changed_.wait(mutex_);
            continue;
        }
        const std::uint64_t seen = writes_.load();
        if (changed_.wait_for(mutex_, quiet_time_)) continue;
        if (writes_.load() != seen) continue;
        watching_.store(false);
        // If a concurrent wrote() has read watching_ before this store, it does not call watch(),
        // and its write is found here. If it has read watching_ afterwards, it calls watch(), and
        // flush_ may be called once more than necessary.
        if (writes_.load() != seen) {
            watching_.store(true);
            continue;
        }
        lock.unlock();
        flush_();
        lock.lock();
    }
}

}  // namespace rocklock
