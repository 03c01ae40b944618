#include "service/remote_users.hpp"

#include "lock/model/names.hpp"
#include "service/process_id.hpp"

namespace rocklock {

std::uint32_t node_number(std::string_view name) {
    constexpr std::uint64_t max_number = (1u << 20) - 1;
    return static_cast<std::uint32_t>(fnv1a(name) % max_number) + 1;
}

RemoteUsers::RemoteUsers(const std::string& own_node)
    : own_node_(own_node), own_number_(own_node.empty() ? 0 : node_number(own_node)) {
    if (!own_node.empty()) add_node(own_node);
}

void RemoteUsers::add_node(const std::string& node) {
    MutexLock lock(mutex_);
    nodes_[node_number(node)].name = node;
}

void RemoteUsers::add(const RemoteNode& node, std::uint32_t uid, std::string_view name) {
    MutexLock lock(mutex_);
    Node& known = nodes_[node.number];
    known.name = node.host.node;
    if (name.empty()) {
        known.users.erase(uid);
        return;
    }
    const auto user = known.users.find(uid);
    if (user != known.users.end()) {
        user->second = name;
    } else if (known.users.size() < max_named_users) {
        known.users.emplace(uid, name);
    }
}

std::string RemoteUsers::name_of(UserId user) const {
    MutexLock lock(mutex_);
    const auto node = nodes_.find(node_number_of(user));
    if (node == nodes_.end()) return user_name_without_entry(uid_of(user)) + "@?";
    const auto known = node->second.users.find(uid_of(user));
    const auto name =
        known == node->second.users.end() ? user_name_without_entry(uid_of(user)) : known->second;
    return name + "@" + node->second.name;
}

std::optional<std::string> RemoteUsers::node_of(UserId user) const {
    MutexLock lock(mutex_);
    const auto node = nodes_.find(node_number_of(user));
    if (node == nodes_.end()) return std::nullopt;
    return node->second.name;
}

bool RemoteUsers::knows_name_of(UserId user) const {
    MutexLock lock(mutex_);
    const auto node = nodes_.find(node_number_of(user));
    return node != nodes_.end() &&
           node->second.users.find(uid_of(user)) != node->second.users.end();
}

std::vector<std::string> RemoteUsers::identities_of(UserId user) const {
    MutexLock lock(mutex_);
    const auto known = nodes_.find(node_number_of(user));
    if (known == nodes_.end()) return {};
    const auto& [node, users] = known->second;
    std::vector<std::string> identities;
    const auto named = users.find(uid_of(user));
    if (named != users.end()) identities.push_back("user:" + named->second + "@" + node);
    identities.push_back("user:" + std::to_string(uid_of(user)) + "@" + node);
    identities.push_back("node:" + node);
    return identities;
}

}  // namespace rocklock
