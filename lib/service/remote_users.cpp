#include "service/remote_users.hpp"

#include "lock/model/names.hpp"
#include "service/process_id.hpp"

namespace rocklock {

std::uint32_t node_number(std::string_view name) {
    constexpr std::uint64_t max_number = (1u << 20) - 1;
    return static_cast<std::uint32_t>(fnv1a(name) % max_number) + 1;
}

void RemoteUsers::add_node(const std::string& node) {
    MutexLock lock(mutex_);
    nodes_[node_number(node)] = node;
}

void RemoteUsers::add(const RemoteNode& node, std::uint32_t uid, std::string_view name) {
    const UserId user = user_of_node(node.number, uid);
    Known known{name.empty() ? user_name_without_entry(uid) : std::string(name), node.host.node};
    MutexLock lock(mutex_);
    nodes_[node.number] = node.host.node;
    known_[user] = std::move(known);
}

std::string RemoteUsers::name_of(UserId user) const {
    MutexLock lock(mutex_);
    const auto known = known_.find(user);
    if (known != known_.end()) return known->second.name + "@" + known->second.node;
    const auto node = nodes_.find(node_number_of(user));
    return user_name_without_entry(uid_of(user)) + "@" +
           (node == nodes_.end() ? "?" : node->second);
}

std::optional<std::string> RemoteUsers::node_of(UserId user) const {
    MutexLock lock(mutex_);
    const auto node = nodes_.find(node_number_of(user));
    if (node == nodes_.end()) return std::nullopt;
    return node->second;
}

bool RemoteUsers::knows(UserId user) const {
    MutexLock lock(mutex_);
    return known_.find(user) != known_.end();
}

std::vector<std::string> RemoteUsers::identities_of(UserId user) const {
    MutexLock lock(mutex_);
    const auto known = known_.find(user);
    if (known == known_.end()) return {};
    const auto& [name, node] = known->second;
    return {"user:" + name + "@" + node, "user:" + std::to_string(uid_of(user)) + "@" + node,
            "node:" + node};
}

}  // namespace rocklock
