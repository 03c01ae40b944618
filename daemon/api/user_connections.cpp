#include "daemon/api/user_connections.hpp"

#include "base/assert.hpp"
#include "base/user_limit.hpp"

namespace rocklock {

void UserConnections::add(UserId uid) {
    const MutexLock lock(mutex_);
    ++counts_[uid];
}

void UserConnections::remove(UserId uid) {
    const MutexLock lock(mutex_);
    const auto found = counts_.find(uid);
    ROCKLOCK_ASSERT(found != counts_.end());
    if (--found->second == 0) counts_.erase(found);
}

std::optional<Error> UserConnections::check(UserId uid) const {
    const std::uint64_t max = max_;
    if (max == 0) return std::nullopt;
    const MutexLock lock(mutex_);
    const auto found = counts_.find(uid);
    if (found == counts_.end() || found->second < max) return std::nullopt;
    return user_limit_exceeded(uid, "connections", found->second, max, "max-user-connections");
}

std::map<UserId, std::uint64_t> UserConnections::all() const {
    const MutexLock lock(mutex_);
    return counts_;
}

}  // namespace rocklock
