// The calls about the nodes of a cluster, as the manager executes them.
#pragma once

#include <stop_token>
#include <string>
#include <utility>

#include "daemon/support/stop_request.hpp"
#include "service/cluster_service.hpp"
#include "storage/etcd/client/client.hpp"
#include "storage/etcd/client/layout.hpp"
#include "storage/etcd/copy/copy.hpp"

namespace rocklock {

// Threads:  thread-safe.
// Lifetime: the references must outlive the object.
class NodeCluster final : public ClusterService {
public:
    // `node` is the name of this node, and `copy` its copy. `hand_over` is requested by
    // hand_over().
    NodeCluster(etcd::Client& client, etcd::Layout layout, std::string node, const etcd::Copy& copy,
                StopRequest& hand_over)
        : client_(client),
          layout_(std::move(layout)),
          node_(std::move(node)),
          copy_(copy),
          hand_over_(hand_over) {}

    Result<NodeList> nodes() override;
    Result<HandedOver> hand_over() override;
    Result<NodeChecked> check() override;
    void stop() override { stop_.request_stop(); }

private:
    Error no_other_node(bool has_other_node) const;

    etcd::Client& client_;
    const etcd::Layout layout_;
    const std::string node_;
    const etcd::Copy& copy_;
    StopRequest& hand_over_;
    std::stop_source stop_;
};

}  // namespace rocklock
