// What the clients of each user have at the moment, beside what they may have (UserLimits).
//
// A user is the uid that the kernel names; all clients over TCP are one user. What has ended but is
// not cleaned up yet still counts: it is still in memory.
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

// What one user has.
struct Usage {
    friend bool operator==(const Usage&, const Usage&) = default;

    std::uint64_t sessions = 0;
    std::uint64_t grants = 0;
    std::uint64_t waiters = 0;
    // An estimate of the memory of these.
    std::uint64_t bytes = 0;
};

// Bytes of memory that these take, from above: what a node of each kind takes, with its indexes and
// its part of the store's buffers, and its texts twice.
std::uint64_t bytes_of_session(const Session& session);
std::uint64_t bytes_of_grant(const Grant& grant);
std::uint64_t bytes_of_wait(const Wait& wait);
// The same before there is one.
std::uint64_t bytes_of_session(const OpenSession& request);
std::uint64_t bytes_of_grant(const std::vector<LockRequest>& locks, std::string_view note,
                             const Metadata& metadata);

// Threads: one at a time.
class UserUsage {
public:
    explicit UserUsage(const UserLimits& limits) : limits_(limits) {}

    // Whether there is any limit. Without one, nothing is counted.
    bool counts() const {
        return (limits_.sessions | limits_.grants | limits_.waiters | limits_.lock_bytes) != 0;
    }

    // Changes what a user has; each addition is taken back by a removal of the same size.
    void add_session(std::uint32_t uid, std::uint64_t bytes);
    void remove_session(std::uint32_t uid, std::uint64_t bytes);
    void add_grant(std::uint32_t uid, std::uint64_t bytes);
    void remove_grant(std::uint32_t uid, std::uint64_t bytes);
    void add_waiter(std::uint32_t uid, std::uint64_t bytes);
    void remove_waiter(std::uint32_t uid, std::uint64_t bytes);

    // The refusal of one more, if the user has as many as it may. A waiter counts as a grant, too:
    // it becomes one.
    std::optional<Error> check_session(std::uint32_t uid, std::uint64_t bytes) const;
    std::optional<Error> check_grant(std::uint32_t uid, std::uint64_t bytes) const;
    std::optional<Error> check_waiter(std::uint32_t uid) const;
    // The same of `bytes` more for what there is.
    std::optional<Error> check_bytes(std::uint32_t uid, std::uint64_t bytes) const;

    Usage of(std::uint32_t uid) const;
    // In order of uids, those that have something.
    std::vector<UserLockUsage> all() const;

private:
    void forget_if_empty(std::uint32_t uid);

    const UserLimits limits_;
    boost::unordered_flat_map<std::uint32_t, Usage> users_;
};

}  // namespace rocklock::lock_model
