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
    const auto found = counts_.find(node);
    ROCKLOCK_ASSERT(found != counts_.end());
    if (--found->second == 0) counts_.erase(found);
}

}  // namespace rocklock
