// The locks, sessions and memory that the clients of each user have at present, and the check of
// their limits (UserLimits).
//
// A user is the uid that the kernel reports; all TCP clients are one user. Ended grants and
// sessions count until they are cleaned up, because they are still in memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include <rocklock/error.hpp>
#include <rocklock/lock.hpp>

#include "lock/model/nodes.hpp"

namespace rocklock::lock_model {

struct Usage {
    friend bool operator==(const Usage&, const Usage&) = default;

    std::uint64_t sessions = 0;
    std::uint64_t grants = 0;
    std::uint64_t waiters = 0;
    // An estimate of the memory of these.
    std::uint64_t bytes = 0;
};

// Return an upper estimate of the memory of a session, grant or wait: its nodes with their index
// entries, its share of the storage's buffers, and its texts twice.
std::uint64_t bytes_of_session(const Session& session);
std::uint64_t bytes_of_grant(const Grant& grant);
std::uint64_t bytes_of_wait(const Wait& wait);
// The same for an object that does not exist yet.
std::uint64_t bytes_of_session(const OpenSession& request);
std::uint64_t bytes_of_grant(const std::vector<LockRequest>& locks, std::string_view note,
                             const Metadata& metadata);

// Threads: one at a time.
class UserUsage {
public:
    explicit UserUsage(const UserLimits& limits) : limits_(limits) {}

    // Returns whether there is any limit. If not, usage is not counted.
    bool counts() const {
        return (limits_.sessions | limits_.grants | limits_.waiters | limits_.lock_bytes) != 0;
    }

    // Change the usage of a user. Each addition must be undone by a removal of the same size.
    void add_session(std::uint32_t uid, std::uint64_t bytes);
    void remove_session(std::uint32_t uid, std::uint64_t bytes);
    void add_grant(std::uint32_t uid, std::uint64_t bytes);
    void remove_grant(std::uint32_t uid, std::uint64_t bytes);
    void add_waiter(std::uint32_t uid, std::uint64_t bytes);
    void remove_waiter(std::uint32_t uid, std::uint64_t bytes);

    // Return an error if the user is at its limit and cannot have one more. A waiter counts as a
    // grant as well, because it will become one.
    std::optional<Error> check_session(std::uint32_t uid, std::uint64_t bytes) const;
    std::optional<Error> check_grant(std::uint32_t uid, std::uint64_t bytes) const;
    std::optional<Error> check_waiter(std::uint32_t uid) const;
    // Returns an error if existing objects of the user cannot grow by `bytes`.
    std::optional<Error> check_bytes(std::uint32_t uid, std::uint64_t bytes) const;

    Usage of(std::uint32_t uid) const;
    // Returns the usage of all users with at least one session, grant or waiter, in the order of
    // uids.
    std::vector<UserLockUsage> all() const;

private:
    void forget_if_empty(std::uint32_t uid);

    const UserLimits limits_;
    boost::unordered_flat_map<std::uint32_t, Usage> users_;
};

}  // namespace rocklock::lock_model
