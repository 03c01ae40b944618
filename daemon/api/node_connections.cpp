#include "daemon/api/node_connections.hpp"

#include <utility>

#include "base/assert.hpp"

namespace rocklock {
namespace {

Error limit_reached(const std::string& node, std::uint64_t count, std::uint64_t max) {
    Error error(ErrorCode::limit_exceeded,
                "the node " + node + " has " + std::to_string(count) +
                    " connections, and the limit is " + std::to_string(max) +
                    ": end some of them, or ask the operator of the manager to raise the limit "
                    "with the member connections of the node in the file peer-nodes");
    error.limit = max;
    return error;
}

void remove_one(std::map<std::string, std::uint64_t>& counts, const std::string& node) {
    const auto found = counts.find(node);
    ROCKLOCK_ASSERT(found != counts.end());
    if (--found->second == 0) counts.erase(found);
}

}  // namespace

Result<std::shared_ptr<NodeConnections::Slot>> NodeConnections::add(const std::string& node) {
    const MutexLock lock(mutex_);
    const auto limit = limits_.nodes.find(node);
    const auto max = limit == limits_.nodes.end() ? limits_.other : limit->second;
    const auto found = counts_.find(node);
    const auto count = found == counts_.end() ? 0 : found->second;
    if (count >= max) return limit_reached(node, count, max);
    ++counts_[node];
    return std::make_shared<Slot>(*this, node);
}

void NodeConnections::set_limits(NodeConnectionLimits limits) {
    const MutexLock lock(mutex_);
    limits_ = std::move(limits);
}

void NodeConnections::remove(const std::string& node) {
    const MutexLock lock(mutex_);
    remove_one(counts_, node);
}

void NodeConnections::add_link(const std::string& node) {
    const MutexLock lock(mutex_);
    ++links_[node];
}

void NodeConnections::remove_link(const std::string& node) {
    const MutexLock lock(mutex_);
    remove_one(links_, node);
}

std::map<std::string, NodeUsageLine> NodeConnections::all() const {
    const MutexLock lock(mutex_);
    std::map<std::string, NodeUsageLine> nodes;
    for (const auto& [node, limit] : limits_.nodes) nodes[node];
    for (const auto& [node, links] : links_) nodes[node].links = links;
    for (const auto& [node, connections] : counts_) nodes[node].connections = connections;
    return nodes;
}

}  // namespace rocklock
