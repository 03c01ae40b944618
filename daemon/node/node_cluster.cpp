#include "daemon/node/node_cluster.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <thread>

#include "base/hex.hpp"
#include "storage/etcd/copy/check_copy.hpp"
#include "storage/etcd/node_list.hpp"

namespace rocklock {
namespace {

constexpr std::chrono::milliseconds list_timeout{2'000};
// The maximum time for which a handover waits for a node that can take over.
constexpr std::chrono::milliseconds standby_timeout{3'000};
constexpr std::chrono::milliseconds standby_poll_period{50};
constexpr std::array<std::string_view, family_count> family_words = {"meta", "items", "index",
                                                                     "locks", "history"};
// The time to read 10,000 values.
constexpr std::chrono::milliseconds page_timeout{5'000};

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

// Describes a difference, for example: locks 00ff: only in etcd
std::string description(const etcd::CopyDifference& difference) {
    if (difference.kind == etcd::CopyDifference::Kind::foreign) {
        return "the key " + difference.key + ": not used by Rocklock";
    }
    std::string text(family_words.at(static_cast<std::size_t>(difference.family)));
    text += " " + hex(difference.key);
    switch (difference.kind) {
        case etcd::CopyDifference::Kind::missing:
            return text + ": only in etcd";
        case etcd::CopyDifference::Kind::surplus:
            return text + ": only in the copy";
        case etcd::CopyDifference::Kind::changed:
        case etcd::CopyDifference::Kind::foreign:
            break;
    }
    return text + ": different values";
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

// If other nodes are registered but none is a standby, waits for up to `standby_timeout` until one
// has loaded its copy, for example the previous manager.
Result<HandedOver> NodeCluster::hand_over() {
    const auto until = std::chrono::steady_clock::now() + standby_timeout;
    while (true) {
        const auto list = nodes();
        if (!list) return list.error();
        bool has_other_node = false;
        for (const ClusterNode& node : list->nodes) {
            if (node.name == node_ || node.address.empty()) continue;
            has_other_node = true;
            if (node.role != NodeRole::standby) continue;
            hand_over_.request();
            return HandedOver{node_};
        }
        if (stop_.stop_requested()) {
            return Error(ErrorCode::closing, "this node is ending its role as the manager");
        }
        if (!has_other_node || std::chrono::steady_clock::now() >= until) {
            return no_other_node(has_other_node);
        }
        std::this_thread::sleep_for(standby_poll_period);
    }
}

Error NodeCluster::no_other_node(bool has_other_node) const {
    const std::string continues = ", so the node " + node_ + " continues: ";
    if (has_other_node) {
        return Error(ErrorCode::resource_in_use,
                     "no other node has loaded its copy of the store" + continues +
                         "try again when `rocklock node ls` shows a standby");
    }
    return Error(ErrorCode::resource_in_use,
                 "no other node can become the manager" + continues +
                     "start another node with --peer-listen, and list the nodes with `rocklock "
                     "node ls`");
}

Result<NodeChecked> NodeCluster::check() {
    etcd::ReadSettings settings;
    settings.timeout = page_timeout;
    settings.stop = stop_.get_token();
    const auto check = etcd::check_copy(client_, layout_, copy_, settings);
    if (!check) return check.error();
    NodeChecked reply{node_, check->revision, check->values, check->differences, {}};
    for (const auto& example : check->examples) reply.examples.push_back(description(example));
    return reply;
}

}  // namespace rocklock
