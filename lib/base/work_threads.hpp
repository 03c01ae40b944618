// Threads for what may wait for the disk, so that those who serve connections need not.
//
// As many as there is work at the same time, up to a limit: what waits for the same sync shares it.
// None is started before there is work.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "base/mutex.hpp"

namespace rocklock {

// Threads: thread-safe. The destructor does what was given before, and waits for it.
class WorkThreads {
public:
    explicit WorkThreads(std::size_t most) : max_(most) {}
    WorkThreads(const WorkThreads&) = delete;
    WorkThreads& operator=(const WorkThreads&) = delete;
    ~WorkThreads() ROCKLOCK_EXCLUDES(mutex_);

    // Begun in the order in which it was given.
    void run(std::function<void()> work) ROCKLOCK_EXCLUDES(mutex_);

private:
    void serve() ROCKLOCK_EXCLUDES(mutex_);

    const std::size_t max_;
    Mutex mutex_;
    CondVar wake_;
    bool ending_ ROCKLOCK_GUARDED_BY(mutex_) = false;
    // Threads that wait for work.
    std::size_t idle_ ROCKLOCK_GUARDED_BY(mutex_) = 0;
    std::deque<std::function<void()>> work_ ROCKLOCK_GUARDED_BY(mutex_);
    std::vector<std::thread> threads_ ROCKLOCK_GUARDED_BY(mutex_);
};

}  // namespace rocklock
