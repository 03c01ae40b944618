// Registers a node in the key `node/NAME`, so that the nodes of a cluster can be listed.
//
// The key has a lease of its own, which a thread renews. If the node ends without notice, etcd
// deletes the key after the lease. Nothing else depends on the key: the manager is determined by
// the key `lead` (leadership.hpp).
#pragma once

#include <chrono>
#include <stop_token>
#include <thread>

#include "base/mutex.hpp"
#include "storage/etcd/client/client.hpp"
#include "storage/etcd/client/layout.hpp"
#include "storage/etcd/node_record.hpp"

namespace rocklock::etcd {

// Threads:  thread-safe.
// Lifetime: the client must outlive the object.
class NodeRegistration {
public:
    // Begins to register the node, and does not wait for etcd. While etcd cannot be reached, the
    // registration is tried again.
    NodeRegistration(Client& client, Layout layout, NodeRecord record, std::chrono::seconds ttl);
    NodeRegistration(const NodeRegistration&) = delete;
    NodeRegistration& operator=(const NodeRegistration&) = delete;
    // Deletes the key, if etcd answers soon.
    ~NodeRegistration();

    // Changes the role, which became effective at `since`. Does not wait for etcd.
    void set_standby(bool standby, WallTime since);

private:
    void keep_registered(const std::stop_token& stop);
    bool renew();
    bool lost_key();
    bool write(const NodeRecord& record);

    Client& client_;
    const Layout layout_;
    const std::chrono::seconds ttl_;
    // Used by the thread.
    LeaseId lease_ = 0;
    Mutex mutex_;
    CondVar changed_;
    NodeRecord record_ ROCKLOCK_GUARDED_BY(mutex_);
    // Whether etcd has the current record, as far as is known.
    bool written_ ROCKLOCK_GUARDED_BY(mutex_) = false;
    std::jthread thread_;
};

}  // namespace rocklock::etcd
