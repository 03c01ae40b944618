#include "storage/flush_thread.hpp"

#include <utility>

namespace rocklock {

void FlushThread::start() {
    thread_.start([this] { run(); });
}

void FlushThread::stop() {
    thread_.stop([this] {
        {
            const MutexLock lock(mutex_);
            stopping_ = true;
        }
        changed_.notify_all();
    });
}

void FlushThread::request() {
    {
        const MutexLock lock(mutex_);
        requested_ = true;
    }
    changed_.notify_all();
}

void FlushThread::watch() {
    {
        const MutexLock lock(mutex_);
        watching_.store(true);
    }
    changed_.notify_all();
}

void FlushThread::run() {
    MutexLock lock(mutex_);
    while (!stopping_) {
        if (std::exchange(requested_, false)) {
            lock.unlock();
            flush_();
            lock.lock();
            continue;
        }
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
