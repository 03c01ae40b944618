// The calls about the nodes of a cluster, and their replies. They are part of CallBody and Reply
// (call.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <rocklock/types.hpp>

namespace rocklock {

// Returns the nodes of the cluster.
struct ListNodes {};
// Makes the manager hand its role over to another node. Allowed for administrators.
struct HandOver {};
// Compares the values that the manager has with those in etcd. Allowed for administrators.
struct CheckNode {};

enum class NodeRole : std::uint8_t {
    // The node decides about locks and tables.
    manager,
    // The node relays its clients to the manager, and can replace it.
    standby,
    // The node does not serve its clients yet, or not at the moment.
    waiting,
};

struct ClusterNode {
    std::string name;
    NodeRole role = NodeRole::waiting;
    // The address at which the node accepts other nodes; empty if it accepts none.
    std::string address;
    std::int32_t pid = 0;
    // The time at which the node got its role.
    WallTime since;
    // The version of the program; empty if it is unknown.
    std::string version;
};

struct NodeList {
    // The manager is first. The others are ordered by their names.
    std::vector<ClusterNode> nodes;
};

// The result of CheckNode.
struct NodeChecked {
    // The name of the node, which is the manager.
    std::string node;
    // The revision of etcd whose values were compared.
    std::int64_t revision = 0;
    // The number of values in etcd, and the number of those that the node lacks, has in addition or
    // has with other contents.
    std::uint64_t values = 0;
    std::uint64_t differences = 0;
    // A description of each of the first differences.
    std::vector<std::string> examples;
};

// The manager has accepted the request and ends its role.
struct HandedOver {
    // The name of the node that was the manager.
    std::string node;
};

}  // namespace rocklock
