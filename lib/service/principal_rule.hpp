// The rule that determines which principals the users of a server may use.
//
// A principal is a name that a client gives. Without a rule, every client of the socket can use
// every name. With a rule, the uid that the kernel reports determines which names the client can
// use.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <rocklock/identity.hpp>
#include <rocklock/result.hpp>

#include "base/mutex.hpp"
#include "service/remote_users.hpp"

namespace rocklock {

enum class PrincipalFromUid : std::uint8_t {
    // Every client may use every principal.
    off,
    // A client may use only the name of its user.
    require,
    // The server puts the name of the user and a slash before the principal, unless the principal
    // already begins with this prefix.
    prefix,
};

// Threads: thread-safe.
class PrincipalRule {
public:
    // `remote_users` contains the names of the users of other hosts, and must outlive the rule.
    PrincipalRule(PrincipalFromUid kind, const RemoteUsers& remote_users)
        : kind_(kind), remote_users_(remote_users) {}

    // Returns the principal that a client of this user gets if the client gives the name
    // `principal`. Must not be called for administrators, which can use every principal.
    //
    // Errors: access_denied
    Result<std::string> principal_for(UserId uid, std::string principal);

    // Returns true if only this user and administrators can open sessions of the principal.
    bool proves(UserId uid, const std::string& principal);

private:
    std::string name_of(UserId uid) ROCKLOCK_EXCLUDES(mutex_);

    struct KnownName {
        std::string name;
        std::chrono::steady_clock::time_point until;
    };

    const PrincipalFromUid kind_;
    const RemoteUsers& remote_users_;
    Mutex mutex_;
    // The names of users that were looked up. They are kept for some time, because a lookup in the
    // user database can take long.
    std::map<UserId, KnownName> names_ ROCKLOCK_GUARDED_BY(mutex_);
};

}  // namespace rocklock
