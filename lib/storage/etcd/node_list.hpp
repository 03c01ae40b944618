// Lists the nodes of a cluster.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include <rocklock/result.hpp>

#include "storage/etcd/client/client.hpp"
#include "storage/etcd/client/layout.hpp"
#include "storage/etcd/lead_record.hpp"
#include "storage/etcd/node_record.hpp"

namespace rocklock::etcd {

struct NodeRecords {
    // The manager, if there is one.
    std::optional<LeadRecord> lead;
    // All registered nodes, ordered by their names. A program that has opened the store itself is
    // not registered, even if it is the manager.
    std::vector<NodeRecord> nodes;
};

// Reads the records in one transaction. Errors: as Client.
Result<NodeRecords> read_nodes(Client& client, const Layout& layout,
                               std::chrono::milliseconds timeout);

}  // namespace rocklock::etcd
