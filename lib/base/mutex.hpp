// Mutex, MutexLock and CondVar: wrappers of the standard classes with clang's thread-safety
// annotations.
//
// A member is annotated with the mutex that guards it. Clang then reports every access by code that
// does not hold this mutex:
//
//     Mutex mutex_;
//     int count_ ROCKLOCK_GUARDED_BY(mutex_) = 0;
//     void raise() ROCKLOCK_REQUIRES(mutex_);
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <tuple>

#include "base/fork.hpp"

#if defined(__clang__)
#define ROCKLOCK_ANNOTATION(x) __attribute__((x))
#else
#define ROCKLOCK_ANNOTATION(x)
#endif

// For a class. CAPABILITY: the class is a mutex. SCOPED_CAPABILITY: its objects hold a mutex.
#define ROCKLOCK_CAPABILITY(name) ROCKLOCK_ANNOTATION(capability(name))
#define ROCKLOCK_SCOPED_CAPABILITY ROCKLOCK_ANNOTATION(scoped_lockable)
// For a member. GUARDED_BY names the mutex that guards the member. PT_GUARDED_BY names the mutex
// that guards the object to which the member points.
#define ROCKLOCK_GUARDED_BY(mutex) ROCKLOCK_ANNOTATION(guarded_by(mutex))
#define ROCKLOCK_PT_GUARDED_BY(mutex) ROCKLOCK_ANNOTATION(pt_guarded_by(mutex))
// For a mutex. Defines the order in which two mutexes must be locked.
#define ROCKLOCK_ACQUIRED_BEFORE(...) ROCKLOCK_ANNOTATION(acquired_before(__VA_ARGS__))
#define ROCKLOCK_ACQUIRED_AFTER(...) ROCKLOCK_ANNOTATION(acquired_after(__VA_ARGS__))
// For a function. REQUIRES: the caller must hold the mutex. EXCLUDES: the caller must not hold it.
// ACQUIRE and TRY_ACQUIRE: the function locks the mutex. RELEASE: the function unlocks it.
#define ROCKLOCK_REQUIRES(...) ROCKLOCK_ANNOTATION(requires_capability(__VA_ARGS__))
#define ROCKLOCK_EXCLUDES(...) ROCKLOCK_ANNOTATION(locks_excluded(__VA_ARGS__))
#define ROCKLOCK_ACQUIRE(...) ROCKLOCK_ANNOTATION(acquire_capability(__VA_ARGS__))
#define ROCKLOCK_RELEASE(...) ROCKLOCK_ANNOTATION(release_capability(__VA_ARGS__))
#define ROCKLOCK_TRY_ACQUIRE(...) ROCKLOCK_ANNOTATION(try_acquire_capability(__VA_ARGS__))
// For a function that the analysis cannot follow. Give the reason in a comment.
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

// The constructor locks a mutex. The destructor unlocks the mutex if it is still locked. unlock()
// and lock() can be called between them.
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

// A condition variable. A wait unlocks the mutex while it waits. It may return although the
// condition does not hold, so call it in a loop.
//
// In a forked child of the process, it can be destroyed although a thread of the parent waited for
// it at the fork. The destructor of std::condition_variable would wait for this thread.
class CondVar {
public:
    CondVar() = default;
    CondVar(const CondVar&) = delete;
    CondVar& operator=(const CondVar&) = delete;
    ~CondVar() {
        if (fork_check_.in_child()) std::ignore = condition_.release();
    }

    void wait(Mutex& mutex) ROCKLOCK_REQUIRES(mutex) {
        std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
        condition_->wait(lock);
        lock.release();
    }

    // Returns false if `duration` has passed.
    template <typename Rep, typename Period>
    bool wait_for(Mutex& mutex, std::chrono::duration<Rep, Period> duration)
        ROCKLOCK_REQUIRES(mutex) {
        std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
        const auto status = condition_->wait_for(lock, duration);
        lock.release();
        return status == std::cv_status::no_timeout;
    }

    void notify_one() noexcept { condition_->notify_one(); }
    void notify_all() noexcept { condition_->notify_all(); }

private:
    ForkCheck fork_check_;
    std::unique_ptr<std::condition_variable> condition_ =
        std::make_unique<std::condition_variable>();
};

}  // namespace rocklock
