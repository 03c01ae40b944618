#include "table/schema/user_data.hpp"

#include <algorithm>
#include <string>

#include "base/assert.hpp"
#include "base/user_limit.hpp"
#include "table/schema/item_counts.hpp"

namespace rocklock::table {
namespace {

std::uint64_t shown(const std::atomic<std::int64_t>& value) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(value.load(), 0));
}

// Returns whether the changes store an item or a draft. A write that only deletes items stores
// other records at most, such as that of a lock to be released.
bool stores_data(const std::vector<Write>& writes, const std::vector<CountChange>& changes,
                 const ItemCounts* other_drafts) {
    const auto stores = [](const Write& write) {
        return write.family == Family::items && write.value.has_value();
    };
    const auto keeps = [other_drafts](const CountChange& change) {
        const ItemCounts* counts = change.item_counts.get();
        return (counts->counts_drafts || counts == other_drafts) && change.count > 0;
    };
    return std::any_of(writes.begin(), writes.end(), stores) ||
           std::any_of(changes.begin(), changes.end(), keeps);
}

}  // namespace

UserData::User UserData::user(UserId uid) {
    const MutexLock lock(mutex_);
    User& user = users_[uid];
    if (!user.use) {
        user.use = std::make_shared<DataUse>(uid);
        user.drafts = std::make_shared<ItemCounts>();
        user.drafts->counts_drafts = true;
        user.drafts->charge(user.use);
    }
    ROCKLOCK_ASSERT(user.use != nullptr && user.drafts != nullptr && user.use->uid == uid);
    return user;
}

std::shared_ptr<DataUse> UserData::of(std::optional<UserId> uid) {
    return uid && counts() ? user(*uid).use : nullptr;
}

std::shared_ptr<ItemCounts> UserData::drafts_of(std::optional<UserId> uid) {
    return uid && counts() ? user(*uid).drafts : other_drafts_;
}

std::uint64_t UserData::drafts() const {
    std::uint64_t drafts = shown(other_drafts_->count);
    const MutexLock lock(mutex_);
    for (const auto& [uid, user] : users_) drafts += shown(user.drafts->count);
    return drafts;
}

std::vector<UserTableUsage> UserData::all() const {
    std::vector<UserTableUsage> list;
    const MutexLock lock(mutex_);
    for (const auto& [uid, user] : users_) {
        const UserTableUsage usage{uid, shown(user.drafts->count), shown(user.use->bytes)};
        if (usage.drafts != 0 || usage.table_bytes != 0) list.push_back(usage);
    }
    return list;
}

std::optional<Error> UserData::check(const std::vector<Write>& writes,
                                     const std::vector<CountChange>& changes) const {
    if (!storage_.accepts_growth() && stores_data(writes, changes, other_drafts_.get())) {
        return storage_.growth_refusal();
    }
    if (!counts()) return std::nullopt;
    std::map<const DataUse*, std::int64_t> bytes;
    std::map<const ItemCounts*, CountChange> drafts;
    for (const CountChange& change : changes) {
        const ItemCounts* item_counts = change.item_counts.get();
        ROCKLOCK_ASSERT(item_counts != nullptr);
        if (!item_counts->use) continue;
        bytes[item_counts->use.get()] += bytes_of(change);
        if (!item_counts->counts_drafts) continue;
        auto& sum = drafts[item_counts];
        sum.item_counts = change.item_counts;
        sum.count += change.count;
    }
    for (const auto& [item_counts, change] : drafts) {
        if (auto error = check_drafts(change)) return error;
    }
    for (const auto& [use, added] : bytes) {
        if (auto error = check_bytes(use, added)) return error;
    }
    return std::nullopt;
}

std::optional<Error> UserData::check_bytes(const DataUse* use, std::int64_t bytes) const {
    const std::uint64_t limit = max_table_bytes_;
    if (use == nullptr || limit == 0 || bytes <= 0) return std::nullopt;
    const std::uint64_t has = shown(use->bytes);
    if (has + static_cast<std::uint64_t>(bytes) <= limit) return std::nullopt;
    return user_limit_exceeded(use->uid, "bytes of tables and drafts", has, limit,
                               "max-user-table-bytes");
}

std::optional<Error> UserData::check_drafts(const CountChange& change) const {
    const std::uint64_t limit = max_drafts_;
    if (limit == 0 || change.count <= 0) return std::nullopt;
    const std::uint64_t has = shown(change.item_counts->count);
    if (has + static_cast<std::uint64_t>(change.count) <= limit) return std::nullopt;
    return user_limit_exceeded(change.item_counts->use->uid, "drafts", has, limit,
                               "max-user-drafts");
}

}  // namespace rocklock::table
