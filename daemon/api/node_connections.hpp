// The links and the client connections of each node, and the limits on the connections.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include <rocklock/result.hpp>

#include "base/mutex.hpp"
#include "service/metrics.hpp"

namespace rocklock {

// The maximum number of connections of each node in the file of nodes, and of other nodes.
struct NodeConnectionLimits {
    std::map<std::string, std::uint64_t> nodes;
    std::uint64_t other = 0;
};

// A relay can claim any uid for a client, so the limits of users do not limit a node.
//
// Threads:  thread-safe.
// Lifetime: must outlive the slots.
class NodeConnections {
public:
    // A connection of a node, which is counted until the slot is destroyed.
    class Slot {
    public:
        Slot(NodeConnections& connections, std::string node)
            : connections_(connections), node_(std::move(node)) {}
        Slot(const Slot&) = delete;
        Slot& operator=(const Slot&) = delete;
        ~Slot() { connections_.remove(node_); }

    private:
        NodeConnections& connections_;
        const std::string node_;
    };

    // Counts another connection of the node.
    //
    // Errors: limit_exceeded   the node has reached its limit
    Result<std::shared_ptr<Slot>> add(const std::string& node) ROCKLOCK_EXCLUDES(mutex_);
    void add_link(const std::string& node) ROCKLOCK_EXCLUDES(mutex_);
    void remove_link(const std::string& node) ROCKLOCK_EXCLUDES(mutex_);
    // Returns the nodes of the file, and other nodes that have links or connections.
    std::map<std::string, NodeUsageLine> all() const ROCKLOCK_EXCLUDES(mutex_);
    // Changes the limits. Existing connections are kept.
    void set_limits(NodeConnectionLimits limits) ROCKLOCK_EXCLUDES(mutex_);

private:
    void remove(const std::string& node) ROCKLOCK_EXCLUDES(mutex_);

    mutable Mutex mutex_;
    NodeConnectionLimits limits_ ROCKLOCK_GUARDED_BY(mutex_);
    // Nodes without links, or without connections, have no entry in the respective map.
    std::map<std::string, std::uint64_t> links_ ROCKLOCK_GUARDED_BY(mutex_);
    std::map<std::string, std::uint64_t> counts_ ROCKLOCK_GUARDED_BY(mutex_);
};

}  // namespace rocklock
