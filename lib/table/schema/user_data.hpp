// The number of bytes and drafts that each user stores. Checks the limits of users (UserLimits) and
// the free space of the disk.
//
// A table counts towards the user that created it, regardless of which users write to it. A draft
// counts towards the user of the refused write. The numbers are stored with the counts of rows
// (ItemCounts), so that they are known after a restart without reading the data.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <rocklock/error.hpp>
#include <rocklock/identity.hpp>
#include <rocklock/items/table.hpp>
#include <rocklock/storage/storage.hpp>
#include <rocklock/user_limits.hpp>

#include "base/mutex.hpp"
#include "table/schema/item_counts.hpp"

namespace rocklock::table {

// The bytes of one user: tables, indexes, definitions and drafts. Thread-safe.
struct DataUse {
    explicit DataUse(UserId user) : uid(user) {}

    const UserId uid;
    std::atomic<std::int64_t> bytes{0};
};

// Threads: thread-safe.
class UserData {
public:
    // If `counts` is false and no user limit is set, the usage of users is not counted. Borrows the
    // storage.
    explicit UserData(const Storage& storage, const UserLimits& limits, bool counts = false)
        : storage_(storage),
          counts_(counts || limits.drafts != 0 || limits.table_bytes != 0),
          max_drafts_(limits.drafts),
          max_table_bytes_(limits.table_bytes) {}

    bool counts() const { return counts_; }
    // If a limit is set, the usage of users must be counted from the start.
    void set_limits(const UserLimits& limits) {
        max_drafts_ = limits.drafts;
        max_table_bytes_ = limits.table_bytes;
    }

    // Returns the counter of the user's bytes. Returns null if usage is not counted, or if `user`
    // is nullopt.
    std::shared_ptr<DataUse> of(std::optional<UserId> user);
    // Returns the counter of the user's drafts. If usage is not counted, or if `user` is nullopt,
    // returns a counter that belongs to no user.
    std::shared_ptr<ItemCounts> drafts_of(std::optional<UserId> user);
    // Returns the number of all drafts.
    std::uint64_t drafts() const;

    // Returns the usage of all users that store data, in the order of their uids.
    std::vector<UserTableUsage> all() const;

    // Returns an error if the changes exceed a user's limit of bytes or drafts, or if they store an
    // item or a draft while the disk is almost full (Storage::accepts_growth()). Changes that in
    // total do not add bytes or drafts are always accepted.
    std::optional<Error> check(const std::vector<Write>& writes,
                               const std::vector<CountChange>& changes) const;
    // Returns an error if `bytes` more bytes exceed the user's limit.
    std::optional<Error> check_bytes(const DataUse* use, std::int64_t bytes) const;

private:
    struct User {
        std::shared_ptr<DataUse> use;
        std::shared_ptr<ItemCounts> drafts;
    };

    User user(UserId uid);
    std::optional<Error> check_drafts(const CountChange& change) const;

    const Storage& storage_;
    const bool counts_;
    // The limits. 0 means no limit.
    std::atomic<std::uint64_t> max_drafts_;
    std::atomic<std::uint64_t> max_table_bytes_;
    // The drafts that belong to no counter of `users_`.
    const std::shared_ptr<ItemCounts> other_drafts_ = std::make_shared<ItemCounts>();
    mutable Mutex mutex_;
    std::map<UserId, User> users_ ROCKLOCK_GUARDED_BY(mutex_);
};

}  // namespace rocklock::table
