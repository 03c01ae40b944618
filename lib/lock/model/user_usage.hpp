// Counts the sessions, grants and waiters of each user and their memory, and checks the limits of
// users (UserLimits). Also stores the error with which requests that add data are refused while the
// disk is almost full.
//
// A user is a uid that the kernel reports; all TCP clients count as one user. Ended grants and
// sessions count until they are cleaned up, because they are in memory until then.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include <rocklock/error.hpp>
#include <rocklock/identity.hpp>
#include <rocklock/lock.hpp>

#include "base/assert.hpp"
#include "lock/model/nodes.hpp"

namespace rocklock::lock_model {

struct Usage {
    friend bool operator==(const Usage&, const Usage&) = default;

    std::uint64_t sessions = 0;
    std::uint64_t grants = 0;
    std::uint64_t waiters = 0;
    // An estimate of the memory of the sessions, grants and waiters.
    std::uint64_t bytes = 0;
};

// Return an estimate of the memory of a session, grant or wait, in bytes. The estimate is never too
// low. It includes the nodes with their index entries, a share of the storage's buffers, and twice
// the size of the texts.
std::uint64_t bytes_of_session(const Session& session);
std::uint64_t bytes_of_grant(const Grant& grant);
std::uint64_t bytes_of_wait(const Wait& wait);
// Return the estimate for an object that does not exist yet.
std::uint64_t bytes_of_session(const OpenSession& request);
std::uint64_t bytes_of_grant(const std::vector<LockRequest>& locks, std::string_view note,
                             const Metadata& metadata);

// Threads: one at a time.
class UserUsage {
public:
    // If `counts` is false and there is no limit, usage is not counted.
    explicit UserUsage(const UserLimits& limits, bool counts = false)
        : counts_(counts || has_any(limits)), limits_(limits) {}

    // Returns whether usage is counted.
    bool counts() const { return counts_; }
    // Requires that usage is counted if `limits` contains a limit.
    void set_limits(const UserLimits& limits) {
        ROCKLOCK_ASSERT(counts_ || !has_any(limits));
        limits_ = limits;
    }

    // Change the usage of a user. Each addition must be undone by a removal of the same size.
    void add_session(UserId uid, std::uint64_t bytes);
    void remove_session(UserId uid, std::uint64_t bytes);
    void add_grant(UserId uid, std::uint64_t bytes);
    void remove_grant(UserId uid, std::uint64_t bytes);
    void add_waiter(UserId uid, std::uint64_t bytes);
    void remove_waiter(UserId uid, std::uint64_t bytes);

    // Return an error if another session, grant or waiter would exceed a limit of the user. A
    // waiter counts towards the limit of grants too, because it can become a grant.
    std::optional<Error> check_session(UserId uid, std::uint64_t bytes) const;
    std::optional<Error> check_grant(UserId uid, std::uint64_t bytes) const;
    std::optional<Error> check_waiter(UserId uid) const;
    // Returns an error if existing objects of the user cannot grow by `bytes`.
    std::optional<Error> check_bytes(UserId uid, std::uint64_t bytes) const;

    // Sets the error with which requests that add sessions, grants or classes are refused for all
    // users. With nullopt, such requests are not refused.
    void refuse_growth(std::optional<Error> error) { growth_refused_ = std::move(error); }
    const std::optional<Error>& growth_refused() const { return growth_refused_; }

    Usage of(UserId uid) const;
    // Returns the usage of all users with at least one session, grant or waiter, in the order of
    // uids.
    std::vector<UserLockUsage> all() const;

private:
    static bool has_any(const UserLimits& limits) {
        return (limits.sessions | limits.grants | limits.waiters | limits.lock_bytes) != 0;
    }
    void forget_if_empty(UserId uid);

    const bool counts_;
    UserLimits limits_;
    std::optional<Error> growth_refused_;
    boost::unordered_flat_map<UserId, Usage> users_;
};

}  // namespace rocklock::lock_model
