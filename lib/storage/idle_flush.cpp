#include "storage/idle_flush.hpp"

namespace rocklock {

void IdleFlush::start() {
    thread_.start([this] { run(); });
}

void IdleFlush::stop() {
    thread_.stop([this] {
        {
            const MutexLock lock(mutex_);
            stopping_ = true;
        }
        changed_.notify_all();
    });
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
