#include "daemon/cli/lock_connection.hpp"

namespace rocklock {

std::optional<Ending> find_ending(LockConnection& manager, const SessionCredentials& credentials,
                                  GrantId grant, const CallLimits& limits) {
    const auto released =
        manager.ask<Released>(Call{Release{credentials.id, grant}, credentials.secret, {}}, limits);
    if (!released) return released.error().ended;
    if (released->outcome == Outcome::released || released->outcome == Outcome::held) {
        return std::nullopt;
    }
    return ending_in(*released);
}

Ending ending_in(const Released& released) {
    return {released.outcome, released.by, released.reason, released.at.value_or(WallTime{})};
}

}  // namespace rocklock
