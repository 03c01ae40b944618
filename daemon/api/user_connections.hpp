// The open connections of each user, and the limit on them.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>

#include <rocklock/error.hpp>

#include "base/mutex.hpp"

namespace rocklock {

// Threads: thread-safe.
class UserConnections {
public:
    // `max` is the limit for each user. 0 means no limit.
    explicit UserConnections(std::uint64_t max = 0) : max_(max) {}

    void add(std::uint32_t uid);
    void remove(std::uint32_t uid);

    // Returns an error if the user has reached the limit.
    std::optional<Error> check(std::uint32_t uid) const;
    // Changes the limit. Existing connections are kept.
    void set_max(std::uint64_t max) { max_ = max; }
    std::map<std::uint32_t, std::uint64_t> all() const;

private:
    std::atomic<std::uint64_t> max_;
    mutable Mutex mutex_;
    std::map<std::uint32_t, std::uint64_t> counts_ ROCKLOCK_GUARDED_BY(mutex_);
};

}  // namespace rocklock
