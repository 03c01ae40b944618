// The operations on the nodes of a cluster, as the dispatcher uses them.
#pragma once

#include <rocklock/result.hpp>

#include "wire/cluster_calls.hpp"

namespace rocklock {

// Threads: thread-safe. The functions may wait for etcd.
class ClusterService {
public:
    ClusterService() = default;
    ClusterService(const ClusterService&) = delete;
    ClusterService& operator=(const ClusterService&) = delete;
    virtual ~ClusterService() = default;

    // Returns the nodes of the cluster. Errors: those of etcd.
    virtual Result<NodeList> nodes() = 0;
    // Requests the end of this node's role as the manager, and returns before the role has ended.
    // Waits for up to 3 s for another node that can take over.
    //
    // Errors: resource_in_use  no other node can become the manager
    //         closing          this node is ending its role
    //         those of etcd
    virtual Result<HandedOver> hand_over() = 0;
    // Compares the values of this node, which is the manager, with those in etcd. Takes seconds if
    // the store has a million values.
    //
    // Errors: those of etcd; closing if this node is ending its role
    virtual Result<NodeChecked> check() = 0;
    // Ends a running check, and a handover that waits.
    virtual void stop() = 0;
};

}  // namespace rocklock
