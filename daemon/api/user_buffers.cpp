#include "daemon/api/user_buffers.hpp"

#include <tuple>
#include <utility>

#include "base/user_limit.hpp"

namespace rocklock {

Error UserBuffers::Account::error() const {
    return user_limit_exceeded(uid_, "bytes of incomplete requests and unread responses", bytes(),
                               max_, "max-user-buffer-bytes");
}

bool UserBuffers::Account::try_add(std::size_t bytes) {
    const std::uint64_t max = max_.load(std::memory_order_relaxed);
    auto before = bytes_.load(std::memory_order_relaxed);
    do {
        if (max != 0 && before >= max) return false;
    } while (!bytes_.compare_exchange_weak(before, before + bytes, std::memory_order_relaxed));
    return true;
}

UserBuffers::Account& UserBuffers::account(UserId uid) {
    const MutexLock lock(mutex_);
    return accounts_
        .emplace(std::piecewise_construct, std::forward_as_tuple(uid),
                 std::forward_as_tuple(uid, max_))
        .first->second;
}

void UserBuffers::set_max(std::uint64_t max) {
    const MutexLock lock(mutex_);
    max_ = max;
    for (auto& [uid, account] : accounts_) account.set_max(max);
}

std::map<UserId, std::uint64_t> UserBuffers::all() const {
    std::map<UserId, std::uint64_t> bytes;
    const MutexLock lock(mutex_);
    for (const auto& [uid, account] : accounts_) {
        if (account.bytes() > 0) bytes[uid] = account.bytes();
    }
    return bytes;
}

}  // namespace rocklock
