// The value of a key `node/NAME`: a node of the cluster. It is JSON, so that people and other
// programs can read it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <rocklock/clock.hpp>

namespace rocklock::etcd {

struct NodeRecord {
    std::string node;
    // The address at which the node accepts other nodes, or empty.
    std::string address;
    std::int64_t pid = 0;
    // The version of the program.
    std::string version;
    // Whether the node relays clients to the manager. The manager itself is named by `lead`.
    bool standby = false;
    // The time of the last change of `standby`.
    WallTime since;

    friend bool operator==(const NodeRecord&, const NodeRecord&) = default;
};

std::string encode(const NodeRecord& record);
// Members that are absent or invalid have their default values.
NodeRecord decode_node(std::string_view value);

}  // namespace rocklock::etcd
