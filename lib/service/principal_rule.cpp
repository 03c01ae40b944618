#include "service/principal_rule.hpp"

#include <utility>

#include "service/dispatcher.hpp"
#include "service/process_id.hpp"

namespace rocklock {
namespace {

constexpr std::chrono::seconds max_name_age{60};
// If no name was found, a directory service may only be unavailable for a moment. This result is
// therefore kept for a shorter time.
constexpr std::chrono::seconds max_failure_age{1};

}  // namespace

std::string PrincipalRule::name_of(UserId uid) {
    if (!remote_users_.is_here(uid)) return remote_users_.name_of(uid);
    const auto now = std::chrono::steady_clock::now();
    {
        const MutexLock lock(mutex_);
        const auto known = names_.find(uid);
        if (known != names_.end() && now < known->second.until) return known->second.name;
    }
    const auto found = find_user_name(uid_of(uid));
    auto name = found.value_or(user_name_without_entry(uid_of(uid)));
    const auto& node = remote_users_.own_node();
    if (!node.empty()) name += "@" + node;
    const MutexLock lock(mutex_);
    names_[uid] = {name, now + (found ? max_name_age : max_failure_age)};
    return name;
}

Result<std::string> PrincipalRule::principal_for(UserId uid, std::string principal) {
    if (kind_ == PrincipalFromUid::off) return principal;
    if (kind_ == PrincipalFromUid::require && is_unknown(uid)) {
        return Error(ErrorCode::access_denied,
                     "this daemon requires that the principal is the name of the user "
                     "(principal-from-uid = require), and the user of a TCP client is unknown: "
                     "connect to the Unix socket");
    }
    const auto name = name_of(uid);
    if (kind_ == PrincipalFromUid::prefix) {
        if (principal.empty() || principal.starts_with(name + "/")) return principal;
        return name + "/" + principal;
    }
    if (principal == name) return principal;
    return Error(ErrorCode::access_denied,
                 "the principal '" + principal + "' is not the name of your user, '" + name +
                     "', which this daemon requires (principal-from-uid = require): give that "
                     "name, or use the default of the command line");
}

bool PrincipalRule::proves(UserId uid, const std::string& principal) {
    if (kind_ == PrincipalFromUid::off || is_unknown(uid)) return false;
    const auto name = name_of(uid);
    return kind_ == PrincipalFromUid::require ? principal == name
                                              : principal.starts_with(name + "/");
}

}  // namespace rocklock
