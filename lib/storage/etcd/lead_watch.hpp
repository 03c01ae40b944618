// Watches which node is the manager of a store on etcd.
#pragma once

#include <chrono>
#include <stop_token>
#include <string>
#include <utility>

#include <rocklock/error.hpp>

#include "storage/etcd/client/client.hpp"
#include "storage/etcd/client/layout.hpp"

namespace rocklock::etcd {

// Threads:  one at a time.
// Lifetime: the client must outlive the object.
class LeadWatch {
public:
    LeadWatch(Client& client, Layout layout) : client_(client), layout_(std::move(layout)) {}

    // Waits while `manager` is the manager. Returns when there is no manager or another one, or
    // soon after a stop was requested. Continues to wait while etcd cannot be reached.
    void await_change(const ManagerNode& manager, const std::stop_token& stop);
    // Waits until a node with another name than `node` is the manager, until a stop is requested,
    // or for `timeout`. Returns whether another node is the manager.
    bool await_other(const std::string& node, std::chrono::milliseconds timeout,
                     const std::stop_token& stop);

private:
    bool has_changed(const ManagerNode& manager, Revision& seen);
    bool changes(const ManagerNode& manager, const WatchResponse& response, Revision& seen) const;

    Client& client_;
    const Layout layout_;
};

}  // namespace rocklock::etcd
