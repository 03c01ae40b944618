// The bytes that the daemon buffers for the clients of each user, and the limit on them.
//
// - Requests: the bytes of a request are counted while it is incomplete. The bytes of a large
//   request are counted until it is answered.
// - Responses: the bytes of a large response are counted from the time at which it is made. The
//   bytes of a small response are counted from the time at which the client's socket does not
//   accept them. In both cases, they are counted until the client has read the response.
//
// Therefore, a small request that is answered immediately does not change the count. If a request
// changes something and can have a large response, the bytes of the response are counted before
// anything is changed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>

#include <rocklock/error.hpp>
#include <rocklock/identity.hpp>

#include "base/mutex.hpp"

namespace rocklock {

// A buffer of up to this size is allowed even if the user has reached its limit, so that small
// requests can still be read.
inline constexpr std::size_t small_buffer = 4096;

// Threads: thread-safe.
class UserBuffers {
public:
    // The buffers of one user.
    class Account {
    public:
        Account(UserId uid, std::uint64_t max) : uid_(uid), max_(max) {}
        Account(const Account&) = delete;
        Account& operator=(const Account&) = delete;

        void add(std::size_t bytes) { bytes_.fetch_add(bytes, std::memory_order_relaxed); }
        // Adds the bytes and returns true, or returns false if the user has reached the limit. The
        // limit is exceeded by at most `bytes`, even if many threads call this function at the same
        // time.
        bool try_add(std::size_t bytes);
        void remove(std::size_t bytes) { bytes_.fetch_sub(bytes, std::memory_order_relaxed); }
        std::uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
        // Returns true if the user has reached the limit.
        bool full() const {
            const std::uint64_t max = max_.load(std::memory_order_relaxed);
            return max != 0 && bytes() >= max;
        }
        void set_max(std::uint64_t max) { max_ = max; }
        // Returns the error for a request that is refused because of the limit.
        Error error() const;

    private:
        const UserId uid_;
        std::atomic<std::uint64_t> max_;
        std::atomic<std::uint64_t> bytes_{0};
    };

    // `max` is the limit for each user. 0 means no limit.
    explicit UserBuffers(std::uint64_t max = 0) : max_(max) {}

    // Returns the account of the user. The reference is valid until this object is destroyed.
    Account& account(UserId uid);
    // Changes the limit. Existing buffers are kept.
    void set_max(std::uint64_t max);
    // Returns the number of buffered bytes for each user that has any.
    std::map<UserId, std::uint64_t> all() const;

private:
    mutable Mutex mutex_;
    std::uint64_t max_ ROCKLOCK_GUARDED_BY(mutex_);
    std::map<UserId, Account> accounts_ ROCKLOCK_GUARDED_BY(mutex_);
};

// The bytes of an account that belong to one buffer. The destructor subtracts them from the
// account. Threads: one at a time.
class CountedBytes {
public:
    // If `account` is null, no account is changed.
    explicit CountedBytes(UserBuffers::Account* account, std::size_t bytes = 0)
        : account_(account) {
        set(bytes);
    }
    CountedBytes(const CountedBytes&) = delete;
    CountedBytes& operator=(const CountedBytes&) = delete;
    ~CountedBytes() { set(0); }

    std::size_t bytes() const { return bytes_; }
    void set(std::size_t bytes) {
        if (bytes == bytes_ || account_ == nullptr) return;
        if (bytes > bytes_) account_->add(bytes - bytes_);
        if (bytes < bytes_) account_->remove(bytes_ - bytes);
        bytes_ = bytes;
    }
    // As set(), and returns true. If the number grows and the user has reached the limit, changes
    // nothing and returns false.
    bool try_set(std::size_t bytes) {
        if (account_ != nullptr && bytes > bytes_) {
            if (!account_->try_add(bytes - bytes_)) return false;
            bytes_ = bytes;
        }
        set(bytes);
        return true;
    }

private:
    UserBuffers::Account* const account_;
    std::size_t bytes_ = 0;
};

}  // namespace rocklock
