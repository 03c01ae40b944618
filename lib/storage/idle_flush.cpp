#include "storage/idle_flush.hpp"

namespace rocklock {

void IdleFlush::start() {
    thread_ = std::thread([this] { run(); });
}

void IdleFlush::stop() {
    if (!thread_.joinable()) return;
    // The thread does not exist in a child of the process.
    if (fork_check_.in_child()) {
        thread_.detach();
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
        // A write that did not see the change must not be missed. It may belong to this flush, and
        // is then flushed twice.
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
