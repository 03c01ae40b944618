// The identities of a user: the names of the user and of its groups, in the form of the rights of
// classes (LockClass::steal_by), such as "user:ann" and "group:ops".
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <rocklock/identity.hpp>

#include "base/mutex.hpp"
#include "service/remote_users.hpp"

namespace rocklock {

// Looks up the user and its groups in the databases of the system. The list contains the user and
// each group both by name and by number; names that are themselves numbers are left out. If the
// user is unknown, the list contains only "user:UID".
std::vector<std::string> look_up_identities(uid_t uid);

// Keeps the identities of each user for a minute, because a lookup can take long.
//
// Threads: thread-safe.
class UserIdentities {
public:
    using Lookup = std::function<std::vector<std::string>(uid_t)>;

    // If `lookup` is empty, look_up_identities() is used. `remote_users` contains the identities of
    // the users of other hosts, and must outlive this object.
    explicit UserIdentities(const RemoteUsers& remote_users, Lookup lookup = {})
        : remote_users_(remote_users), lookup_(lookup ? std::move(lookup) : look_up_identities) {}

    // Returns the identities of the user. Looks them up if they are not known.
    std::vector<std::string> of(UserId uid) ROCKLOCK_EXCLUDES(mutex_);
    // Returns whether of() needs no lookup now.
    bool knows(UserId uid) ROCKLOCK_EXCLUDES(mutex_);

private:
    void add_node(std::vector<std::string>& identities) const;

    struct Known {
        std::vector<std::string> identities;
        std::chrono::steady_clock::time_point until;
    };

    const RemoteUsers& remote_users_;
    const Lookup lookup_;
    Mutex mutex_;
    std::map<UserId, Known> known_ ROCKLOCK_GUARDED_BY(mutex_);
};

}  // namespace rocklock
