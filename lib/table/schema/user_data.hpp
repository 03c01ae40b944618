// What the tables and the drafts of each user take, and the limits on it (UserLimits).
//
// A table counts towards the user that created it, whoever writes to it; a draft towards the user
// whose write was refused. Both are counted where tables count their rows (ItemCounts), so a
// restart finds the same numbers without reading the data.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <rocklock/error.hpp>
#include <rocklock/items/table.hpp>
#include <rocklock/user_limits.hpp>

#include "base/mutex.hpp"
#include "table/schema/item_counts.hpp"

namespace rocklock::table {

// What one user has: bytes of tables, indexes, definitions and drafts. Thread-safe.
struct DataUse {
    explicit DataUse(std::uint32_t user) : uid(user) {}

    const std::uint32_t uid;
    std::atomic<std::int64_t> bytes{0};
};

// Threads: thread-safe.
class UserData {
public:
    explicit UserData(const UserLimits& limits) : limits_(limits) {}

    // Whether there is any limit. Without one, nothing is counted.
    bool counts() const { return limits_.drafts != 0 || limits_.table_bytes != 0; }

    // Returns where the user's data is counted, or null if nothing is counted or there is no user.
    std::shared_ptr<DataUse> of(std::optional<std::uint32_t> user);
    // Returns what counts the user's drafts, or null as of().
    std::shared_ptr<ItemCounts> drafts_of(std::optional<std::uint32_t> user);

    // In order of uids, those that have any.
    std::vector<UserTableUsage> all() const;

    // The refusal of changes that take the bytes or the drafts of a user beyond its limit. What
    // takes away as much as it adds is never refused.
    std::optional<Error> check(const std::vector<CountChange>& changes) const;
    // The refusal of `bytes` more.
    std::optional<Error> check_bytes(const DataUse* use, std::int64_t bytes) const;

private:
    struct User {
        std::shared_ptr<DataUse> use;
        std::shared_ptr<ItemCounts> drafts;
    };

    User user(std::uint32_t uid);
    std::optional<Error> check_drafts(const CountChange& change) const;

    const UserLimits limits_;
    mutable Mutex mutex_;
    std::map<std::uint32_t, User> users_ ROCKLOCK_GUARDED_BY(mutex_);
};

}  // namespace rocklock::table
