// A pool of threads for work that may wait for the disk, so that the threads that serve connections
// need not wait.
//
// If a task is added and no thread is idle, a thread is started, up to a maximum number of threads.
// Tasks that wait for the disk at the same time can share one sync.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "base/mutex.hpp"

namespace rocklock {

// Threads: thread-safe. The destructor returns when all tasks have run.
class WorkThreads {
public:
    explicit WorkThreads(std::size_t max_threads) : max_(max_threads) {}
    WorkThreads(const WorkThreads&) = delete;
    WorkThreads& operator=(const WorkThreads&) = delete;
    ~WorkThreads() ROCKLOCK_EXCLUDES(mutex_);

    // Runs a task on one of the threads. Tasks start in the order of these calls.
    void run(std::function<void()> work) ROCKLOCK_EXCLUDES(mutex_);

private:
    void serve() ROCKLOCK_EXCLUDES(mutex_);

    const std::size_t max_;
    Mutex mutex_;
    CondVar wake_;
    bool ending_ ROCKLOCK_GUARDED_BY(mutex_) = false;
    // The number of threads that wait for work.
    std::size_t idle_ ROCKLOCK_GUARDED_BY(mutex_) = 0;
    std::deque<std::function<void()>> work_ ROCKLOCK_GUARDED_BY(mutex_);
    std::vector<std::thread> threads_ ROCKLOCK_GUARDED_BY(mutex_);
};

}  // namespace rocklock
