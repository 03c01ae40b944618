#include "daemon/support/admin_group.hpp"

#include <grp.h>
#include <pwd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <vector>

namespace rocklock {
namespace {

constexpr std::size_t name_memory = 64u << 10;

// Returns true if the system's database lists the user in the group. Used if the kernel does not
// report the groups of a peer.
bool is_listed(uid_t user, gid_t own, gid_t group) {
    std::vector<char> memory(name_memory);
    passwd entry{};
    passwd* found = nullptr;
    if (::getpwuid_r(user, &entry, memory.data(), memory.size(), &found) != 0 || found == nullptr) {
        return false;
    }
    int count = 64;
    std::vector<gid_t> groups(static_cast<std::size_t>(count));
    while (::getgrouplist(found->pw_name, own, groups.data(), &count) < 0) {
        groups.resize(std::max(groups.size() * 2, static_cast<std::size_t>(count)));
        count = static_cast<int>(groups.size());
    }
    groups.resize(static_cast<std::size_t>(count));
    return std::find(groups.begin(), groups.end(), group) != groups.end();
}

}  // namespace

Result<gid_t> find_group(const std::string& name) {
    std::vector<char> memory(name_memory);
    ::group entry{};
    ::group* found = nullptr;
    if (::getgrnam_r(name.c_str(), &entry, memory.data(), memory.size(), &found) == 0 &&
        found != nullptr) {
        return found->gr_gid;
    }
    gid_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (!name.empty() && error == std::errc{} && end == name.data() + name.size()) return number;
    return Error(ErrorCode::invalid_argument, "admin-group: there is no group '" + name + "'");
}

bool peer_is_member(int socket, gid_t group) {
    ucred credentials{};
    socklen_t size = sizeof credentials;
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return false;
    if (credentials.gid == group) return true;
    std::vector<gid_t> groups(64);
    while (true) {
        size = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
        if (::getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size) == 0) break;
        if (errno != ERANGE) return is_listed(credentials.uid, credentials.gid, group);
        groups.resize(size / sizeof(gid_t));
    }
    groups.resize(size / sizeof(gid_t));
    return std::find(groups.begin(), groups.end(), group) != groups.end();
}

}  // namespace rocklock
