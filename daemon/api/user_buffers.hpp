// The bytes that the daemon buffers for the clients of each user, and the limit on them.
//
// The bytes of a request are counted while it is incomplete; those of a large request until it is
// answered. The bytes of a large response are counted from the time at which it is made, and those
// of a small response from the time at which the client's socket does not accept it. They are
// counted until the client has read the response. Therefore a small request that is answered
// immediately does not change the count. If a request changes something and can have a large
// answer, this answer counts before anything is changed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>

#include <rocklock/error.hpp>

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
        Account(std::uint32_t uid, std::uint64_t max) : uid_(uid), max_(max) {}
        Account(const Account&) = delete;
        Account& operator=(const Account&) = delete;

        void add(std::size_t bytes) { bytes_.fetch_add(bytes, std::memory_order_relaxed); }
        // Adds the bytes unless the user has reached the limit. Returns false if it has. The limit
        // is exceeded by at most `bytes`, however many threads call this at the same time.
        bool try_add(std::size_t bytes);
        void remove(std::size_t bytes) { bytes_.fetch_sub(bytes, std::memory_order_relaxed); }
        std::uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
        // Returns true if the user has reached the limit.
        bool full() const { return max_ != 0 && bytes() >= max_; }
        // Returns the error of a request that is refused because of the limit.
        Error error() const;

    private:
        const std::uint32_t uid_;
        const std::uint64_t max_;
        std::atomic<std::uint64_t> bytes_{0};
    };

    // `max` is the limit for each user; 0: no limit.
    explicit UserBuffers(std::uint64_t max = 0) : max_(max) {}

    // Returns the account of the user, which exists as long as this object.
    Account& account(std::uint32_t uid);
    // Returns the bytes of each user that has buffered bytes.
    std::map<std::uint32_t, std::uint64_t> all() const;

private:
    const std::uint64_t max_;
    mutable Mutex mutex_;
    std::map<std::uint32_t, Account> accounts_ ROCKLOCK_GUARDED_BY(mutex_);
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
    // As set(), unless the number grows and the user has reached the limit. Returns false then.
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
