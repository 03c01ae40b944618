#include "base/work_threads.hpp"

#include <utility>

namespace rocklock {

WorkThreads::~WorkThreads() {
    std::vector<std::thread> threads;
    {
        const MutexLock lock(mutex_);
        ending_ = true;
        threads.swap(threads_);
    }
    wake_.notify_all();
    for (auto& thread : threads) thread.join();
}

void WorkThreads::run(std::function<void()> work) {
    {
        const MutexLock lock(mutex_);
        work_.push_back(std::move(work));
        if (work_.size() > idle_ && threads_.size() < max_ && !ending_) {
            threads_.emplace_back([this] { serve(); });
        }
    }
    wake_.notify_one();
}

void WorkThreads::serve() {
    MutexLock lock(mutex_);
    while (true) {
        while (work_.empty()) {
            if (ending_) return;
            ++idle_;
            wake_.wait(mutex_);
            --idle_;
        }
        auto work = std::move(work_.front());
        work_.pop_front();
        lock.unlock();
        work();
        // Destroys the objects that the task holds before the next wait.
        work = nullptr;
        lock.lock();
    }
}

}  // namespace rocklock
