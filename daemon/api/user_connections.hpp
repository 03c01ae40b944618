// The open connections of each user, and the limit on them.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>

#include <rocklock/error.hpp>
#include <rocklock/identity.hpp>

#include "base/mutex.hpp"

namespace rocklock {

// Threads: thread-safe.
class UserConnections {
public:
    // `max` is the limit for each user. 0 means no limit.
    explicit UserConnections(std::uint64_t max = 0) : max_(max) {}

    void add(UserId uid);
    void remove(UserId uid);

    // Returns an error if the user has reached the limit.
    std::optional<Error> check(UserId uid) const;
    // Changes the limit. Existing connections are kept.
    void set_max(std::uint64_t max) { max_ = max; }
    std::map<UserId, std::uint64_t> all() const;

private:
    std::atomic<std::uint64_t> max_;
    mutable Mutex mutex_;
    std::map<UserId, std::uint64_t> counts_ ROCKLOCK_GUARDED_BY(mutex_);
};

}  // namespace rocklock
