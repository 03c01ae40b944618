#include "service/user_identities.hpp"

#include <grp.h>
#include <pwd.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "base/all_digits.hpp"
#include "service/dispatcher.hpp"

namespace rocklock {
namespace {

constexpr std::chrono::seconds max_age{60};
constexpr std::size_t name_memory = 64U << 10;

std::vector<gid_t> groups_of(const passwd& user) {
    int count = 64;
    std::vector<gid_t> groups(static_cast<std::size_t>(count));
    while (::getgrouplist(user.pw_name, user.pw_gid, groups.data(), &count) < 0) {
        groups.resize(std::max(groups.size() * 2, static_cast<std::size_t>(count)));
        count = static_cast<int>(groups.size());
    }
    groups.resize(static_cast<std::size_t>(count));
    return groups;
}

}  // namespace

std::vector<std::string> look_up_identities(uid_t uid) {
    std::vector<std::string> identities{"user:" + std::to_string(uid)};
    std::vector<char> memory(name_memory);
    passwd entry{};
    passwd* user = nullptr;
    if (::getpwuid_r(uid, &entry, memory.data(), memory.size(), &user) != 0 || user == nullptr) {
        return identities;
    }
    // A name that is a number would give the rights of the user or group with this number.
    if (!all_digits(user->pw_name)) identities.push_back(std::string("user:") + user->pw_name);
    for (const gid_t gid : groups_of(*user)) {
        identities.push_back("group:" + std::to_string(gid));
        std::vector<char> group_memory(name_memory);
        ::group group{};
        ::group* found = nullptr;
        if (::getgrgid_r(gid, &group, group_memory.data(), group_memory.size(), &found) == 0 &&
            found != nullptr && !all_digits(found->gr_name)) {
            identities.push_back(std::string("group:") + found->gr_name);
        }
    }
    return identities;
}

std::vector<std::string> UserIdentities::of(UserId uid) {
    if (is_unknown(uid)) return {};
    if (!remote_users_.is_here(uid)) return remote_users_.identities_of(uid);
    const auto now = std::chrono::steady_clock::now();
    {
        const MutexLock lock(mutex_);
        const auto known = known_.find(uid);
        if (known != known_.end() && now < known->second.until) return known->second.identities;
    }
    auto identities = lookup_(uid_of(uid));
    add_node(identities);
    const MutexLock lock(mutex_);
    known_[uid] = {identities, now + max_age};
    return identities;
}

// In a cluster, the user has the same rights as if another node were the manager.
void UserIdentities::add_node(std::vector<std::string>& identities) const {
    const auto& node = remote_users_.own_node();
    if (node.empty()) return;
    for (std::size_t i = 0, count = identities.size(); i < count; ++i) {
        if (identities[i].starts_with("user:")) identities.push_back(identities[i] + "@" + node);
    }
    identities.push_back("node:" + node);
}

bool UserIdentities::knows(UserId uid) {
    if (is_unknown(uid) || !remote_users_.is_here(uid)) return true;
    const MutexLock lock(mutex_);
    const auto known = known_.find(uid);
    return known != known_.end() && std::chrono::steady_clock::now() < known->second.until;
}

}  // namespace rocklock
