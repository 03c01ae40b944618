// Mutex, MutexLock and CondVar: the standard ones, with clang's thread-safety annotations.
//
// A member that a mutex guards says so, and clang proves that it is never touched without:
//
//     Mutex mutex_;
//     int count_ ROCKLOCK_GUARDED_BY(mutex_) = 0;
//     void raise() ROCKLOCK_REQUIRES(mutex_);
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define ROCKLOCK_ANNOTATION(x) __attribute__((x))
#else
#define ROCKLOCK_ANNOTATION(x)
#endif

// On a type: it is a mutex; it holds one for its lifetime.
#define ROCKLOCK_CAPABILITY(name) ROCKLOCK_ANNOTATION(capability(name))
#define ROCKLOCK_SCOPED_CAPABILITY ROCKLOCK_ANNOTATION(scoped_lockable)
// On a member: the mutex that guards it; the mutex that guards what it points to.
#define ROCKLOCK_GUARDED_BY(mutex) ROCKLOCK_ANNOTATION(guarded_by(mutex))
#define ROCKLOCK_PT_GUARDED_BY(mutex) ROCKLOCK_ANNOTATION(pt_guarded_by(mutex))
// On a mutex: the order in which two are taken.
#define ROCKLOCK_ACQUIRED_BEFORE(...) ROCKLOCK_ANNOTATION(acquired_before(__VA_ARGS__))
#define ROCKLOCK_ACQUIRED_AFTER(...) ROCKLOCK_ANNOTATION(acquired_after(__VA_ARGS__))
// On a function: call it with the mutex held; without; it takes it; it gives it back.
#define ROCKLOCK_REQUIRES(...) ROCKLOCK_ANNOTATION(requires_capability(__VA_ARGS__))
#define ROCKLOCK_EXCLUDES(...) ROCKLOCK_ANNOTATION(locks_excluded(__VA_ARGS__))
#define ROCKLOCK_ACQUIRE(...) ROCKLOCK_ANNOTATION(acquire_capability(__VA_ARGS__))
#define ROCKLOCK_RELEASE(...) ROCKLOCK_ANNOTATION(release_capability(__VA_ARGS__))
#define ROCKLOCK_TRY_ACQUIRE(...) ROCKLOCK_ANNOTATION(try_acquire_capability(__VA_ARGS__))
#define ROCKLOCK_ASSERT_HELD(...) ROCKLOCK_ANNOTATION(assert_capability(__VA_ARGS__))
#define ROCKLOCK_RETURN_CAPABILITY(mutex) ROCKLOCK_ANNOTATION(lock_returned(mutex))
// On a function whose locking the analysis cannot follow; say why beside it.
#define ROCKLOCK_NO_THREAD_SAFETY_ANALYSIS ROCKLOCK_ANNOTATION(no_thread_safety_analysis)

namespace rocklock {

class ROCKLOCK_CAPABILITY("mutex") Mutex {
public:
    Mutex() = default;
    Mutex(const Mutex&) = delete;
    Mutex& operator=(const Mutex&) = delete;

    void lock() ROCKLOCK_ACQUIRE() { mutex_.lock(); }
    void unlock() ROCKLOCK_RELEASE() { mutex_.unlock(); }
    bool try_lock() ROCKLOCK_TRY_ACQUIRE(true) { return mutex_.try_lock(); }

private:
    friend class CondVar;
    std::mutex mutex_;
};

// Holds a mutex for its scope, or until unlock().
class ROCKLOCK_SCOPED_CAPABILITY MutexLock {
public:
    explicit MutexLock(Mutex& mutex) ROCKLOCK_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
    MutexLock(const MutexLock&) = delete;
    MutexLock& operator=(const MutexLock&) = delete;
    ~MutexLock() ROCKLOCK_RELEASE() {
        if (held_) mutex_.unlock();
    }

    void unlock() ROCKLOCK_RELEASE() {
        held_ = false;
        mutex_.unlock();
    }
    void lock() ROCKLOCK_ACQUIRE() {
        mutex_.lock();
        held_ = true;
    }

private:
    Mutex& mutex_;
    bool held_ = true;
};

// Waits give the mutex back while they wait, and may return early for no reason: wait in a loop.
class CondVar {
public:
    CondVar() = default;
    CondVar(const CondVar&) = delete;
    CondVar& operator=(const CondVar&) = delete;

    void wait(Mutex& mutex) ROCKLOCK_REQUIRES(mutex) {
        std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
        condition_.wait(lock);
        lock.release();
    }

    // Returns false once `duration` has passed.
    template <typename Rep, typename Period>
    bool wait_for(Mutex& mutex, std::chrono::duration<Rep, Period> duration)
        ROCKLOCK_REQUIRES(mutex) {
        std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
        const auto status = condition_.wait_for(lock, duration);
        lock.release();
        return status == std::cv_status::no_timeout;
    }

    void notify_one() noexcept { condition_.notify_one(); }
    void notify_all() noexcept { condition_.notify_all(); }

private:
    std::condition_variable condition_;
};

}  // namespace rocklock
