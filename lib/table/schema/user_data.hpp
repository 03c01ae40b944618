// The bytes and drafts that each user stores, and their limits (UserLimits).
//
// A table counts towards the user that created it, independently of its writers. A draft counts
// towards the user of the refused write. Both are part of the counts of rows (ItemCounts), so that
// they are known after a restart without reading the data.
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

// The bytes of one user: tables, indexes, definitions and drafts. Thread-safe.
struct DataUse {
    explicit DataUse(std::uint32_t user) : uid(user) {}

    const std::uint32_t uid;
    std::atomic<std::int64_t> bytes{0};
};

// Threads: thread-safe.
class UserData {
public:
    explicit UserData(const UserLimits& limits) : limits_(limits) {}

    // Returns whether there is any limit. If there is none, nothing is counted.
    bool counts() const { return limits_.drafts != 0 || limits_.table_bytes != 0; }

    // Returns the counter of the user's bytes, or null if nothing is counted or there is no user.
    std::shared_ptr<DataUse> of(std::optional<std::uint32_t> user);
    // Returns the counter of the user's drafts. Returns null in the same cases as of().
    std::shared_ptr<ItemCounts> drafts_of(std::optional<std::uint32_t> user);

    // Returns the usage of all users that store data, in the order of their uids.
    std::vector<UserTableUsage> all() const;

    // Returns an error if the changes exceed a user's limit of bytes or drafts. Changes that add
    // nothing in total are never refused.
    std::optional<Error> check(const std::vector<CountChange>& changes) const;
    // Returns an error if `bytes` more exceed the user's limit.
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
