#include "daemon/node/node_cluster.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "storage/etcd/node_list.hpp"

namespace rocklock {
namespace {

constexpr std::chrono::milliseconds list_timeout{2'000};

ClusterNode node_of(const etcd::NodeRecord& record) {
    return {record.node,    record.standby ? NodeRole::standby : NodeRole::waiting,
            record.address, static_cast<std::int32_t>(record.pid),
            record.since,   record.version};
}

// Adds the facts of the key `lead` to the list, and moves the manager to the front.
void add_lead(std::vector<ClusterNode>& nodes, const etcd::LeadRecord& lead) {
    auto found = std::find_if(nodes.begin(), nodes.end(), [&](const ClusterNode& node) {
        return node.name == lead.node && node.pid == lead.pid;
    });
    if (found == nodes.end()) {
        // A program that has opened the store itself.
        ClusterNode node;
        node.name = lead.node;
        node.address = lead.address;
        node.pid = static_cast<std::int32_t>(lead.pid);
        found = nodes.insert(nodes.end(), std::move(node));
    }
    found->role = lead.ready ? NodeRole::manager : NodeRole::waiting;
    found->since = lead.since;
    std::rotate(nodes.begin(), found, found + 1);
}

}  // namespace

Result<NodeList> NodeCluster::nodes() {
    const auto records = etcd::read_nodes(client_, layout_, list_timeout);
    if (!records) return records.error();
    NodeList list;
    for (const auto& record : records->nodes) list.nodes.push_back(node_of(record));
    if (records->lead) add_lead(list.nodes, *records->lead);
    return list;
}

Result<HandedOver> NodeCluster::hand_over() {
    const auto list = nodes();
    if (!list) return list.error();
    const bool has_other =
        std::any_of(list->nodes.begin(), list->nodes.end(), [&](const ClusterNode& node) {
            return node.name != node_ && node.role == NodeRole::standby && !node.address.empty();
        });
    if (!has_other) {
        return Error(ErrorCode::resource_in_use,
                     "no other node can become the manager, so the node " + node_ +
                         " continues: start another node with --peer-listen, and list the nodes "
                         "with `rocklock node ls`");
    }
    hand_over_.request();
    return HandedOver{node_};
}

}  // namespace rocklock
