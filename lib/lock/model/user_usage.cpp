#include "lock/model/user_usage.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "base/user_limit.hpp"

namespace rocklock::lock_model {
namespace {

constexpr std::uint64_t session_bytes = 1'024;
constexpr std::uint64_t grant_bytes = 256;
constexpr std::uint64_t hold_bytes = 256;

std::uint64_t size_of(const Metadata& metadata) {
    std::uint64_t size = 0;
    for (const auto& [name, value] : metadata) size += 64 + name.size() + value.size();
    return size;
}

// The table also has an entry for each path above a name, with a copy of that path. Paths that
// several names share are counted for each of them.
std::uint64_t size_of_hold(std::string_view name) {
    std::uint64_t bytes = hold_bytes + 2 * name.size();
    for (std::size_t at = name.find('/'); at != name.npos; at = name.find('/', at + 1)) {
        bytes += hold_bytes + 2 * at;
    }
    return bytes;
}

std::uint64_t texts_of(std::string_view one, const Metadata& metadata) {
    return 2 * (one.size() + size_of(metadata));
}

void take(std::uint64_t& from, std::uint64_t amount) {
    ROCKLOCK_ASSERT(from >= amount);
    from -= amount;
}

}  // namespace

std::uint64_t bytes_of_session(const Session& session) {
    return session_bytes + 2 * session.principal.size() + texts_of(session.note, session.metadata);
}

std::uint64_t bytes_of_session(const OpenSession& request) {
    return session_bytes + 2 * request.principal.size() + texts_of(request.note, request.metadata);
}

std::uint64_t bytes_of_grant(const Grant& grant) {
    std::uint64_t bytes = grant_bytes;
    for (const Hold& hold : grant.holds()) bytes += size_of_hold(hold.resource()->name());
    if (grant.extra()) bytes += texts_of(grant.extra()->note, grant.extra()->metadata);
    return bytes;
}

std::uint64_t bytes_of_grant(const std::vector<LockRequest>& locks, std::string_view note,
                             const Metadata& metadata) {
    std::uint64_t bytes = grant_bytes + texts_of(note, metadata);
    for (const LockRequest& lock : locks) bytes += size_of_hold(lock.resource);
    return bytes;
}

std::uint64_t bytes_of_wait(const Wait& wait) {
    std::uint64_t bytes = grant_bytes + texts_of(wait.note, wait.metadata);
    for (const RequestedLock& requested : wait.requested_locks)
        bytes += size_of_hold(requested.resource->name());
    return bytes;
}

void UserUsage::add_session(UserId uid, std::uint64_t bytes) {
    if (!counts()) return;
    Usage& usage = users_[uid];
    ++usage.sessions;
    usage.bytes += bytes;
}

void UserUsage::remove_session(UserId uid, std::uint64_t bytes) {
    if (!counts()) return;
    Usage& usage = users_[uid];
    take(usage.sessions, 1);
    take(usage.bytes, bytes);
    forget_if_empty(uid);
}

void UserUsage::add_grant(UserId uid, std::uint64_t bytes) {
    if (!counts()) return;
    Usage& usage = users_[uid];
    ++usage.grants;
    usage.bytes += bytes;
}

void UserUsage::remove_grant(UserId uid, std::uint64_t bytes) {
    if (!counts()) return;
    Usage& usage = users_[uid];
    take(usage.grants, 1);
    take(usage.bytes, bytes);
    forget_if_empty(uid);
}

void UserUsage::add_waiter(UserId uid, std::uint64_t bytes) {
    if (!counts()) return;
    Usage& usage = users_[uid];
    ++usage.waiters;
    usage.bytes += bytes;
}

void UserUsage::remove_waiter(UserId uid, std::uint64_t bytes) {
    if (!counts()) return;
    Usage& usage = users_[uid];
    take(usage.waiters, 1);
    take(usage.bytes, bytes);
    forget_if_empty(uid);
}

void UserUsage::forget_if_empty(UserId uid) {
    const Usage& usage = users_[uid];
    if (usage.sessions != 0 || usage.grants != 0 || usage.waiters != 0) return;
    ROCKLOCK_ASSERT(usage.bytes == 0);
    users_.erase(uid);
}

Usage UserUsage::of(UserId uid) const {
    const auto found = users_.find(uid);
    return found == users_.end() ? Usage{} : found->second;
}

std::vector<UserLockUsage> UserUsage::all() const {
    std::vector<UserLockUsage> list;
    list.reserve(users_.size());
    for (const auto& [uid, usage] : users_) {
        list.push_back({uid, usage.sessions, usage.grants, usage.waiters, usage.bytes});
    }
    std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.uid < b.uid; });
    return list;
}

std::optional<Error> UserUsage::check_bytes(UserId uid, std::uint64_t bytes) const {
    if (limits_.lock_bytes == 0) return std::nullopt;
    const Usage usage = of(uid);
    if (usage.bytes + bytes <= limits_.lock_bytes) return std::nullopt;
    return user_limit_exceeded(uid, "bytes of sessions, locks and waiting requests in memory",
                               usage.bytes, limits_.lock_bytes, "max-user-lock-bytes");
}

std::optional<Error> UserUsage::check_session(UserId uid, std::uint64_t bytes) const {
    const Usage usage = of(uid);
    if (limits_.sessions != 0 && usage.sessions >= limits_.sessions) {
        return user_limit_exceeded(uid, "sessions", usage.sessions, limits_.sessions,
                                   "max-user-sessions");
    }
    return check_bytes(uid, bytes);
}

std::optional<Error> UserUsage::check_grant(UserId uid, std::uint64_t bytes) const {
    const Usage usage = of(uid);
    if (limits_.grants != 0 && usage.grants + usage.waiters >= limits_.grants) {
        return user_limit_exceeded(uid, "grants and waiting requests", usage.grants + usage.waiters,
                                   limits_.grants, "max-user-grants");
    }
    return check_bytes(uid, bytes);
}

std::optional<Error> UserUsage::check_waiter(UserId uid) const {
    const Usage usage = of(uid);
    if (limits_.waiters == 0 || usage.waiters < limits_.waiters) return std::nullopt;
    return user_limit_exceeded(uid, "waiting requests", usage.waiters, limits_.waiters,
                               "max-user-waiters");
}

}  // namespace rocklock::lock_model
