#include "daemon/net/idle_connections.hpp"

#include <utility>

#include "daemon/net/connection.hpp"

namespace rocklock {

std::uint64_t IdleConnections::add(std::weak_ptr<Connection> connection, Time now) {
    const MutexLock lock(mutex_);
    all_.emplace_hint(all_.end(), ++last_number_, Entry{std::move(connection), now});
    return last_number_;
}

void IdleConnections::remove(std::uint64_t number) {
    const MutexLock lock(mutex_);
    all_.erase(number);
}

bool IdleConnections::close_oldest(Time added_before) {
    std::shared_ptr<Connection> oldest;
    {
        const MutexLock lock(mutex_);
        // Skip connections that are being destroyed: they make room by themselves.
        while (!oldest && !all_.empty() && all_.begin()->second.since < added_before) {
            oldest = all_.begin()->second.connection.lock();
            all_.erase(all_.begin());
        }
    }
    if (!oldest) return false;
    oldest->end_if_silent();
    return true;
}

}  // namespace rocklock
