// Watches which node is the manager of a store on etcd.
#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include <rocklock/error.hpp>
#include <rocklock/result.hpp>
#include <rocklock/storage/etcd.hpp>

#include "storage/etcd/client.hpp"
#include "storage/etcd/layout.hpp"

namespace rocklock::etcd {

// Threads: one at a time.
class LeadWatch {
public:
    // Errors: invalid_argument (the URL), and those of load_client().
    static Result<LeadWatch> connect(const std::string& url, const EtcdOptions& options);

    LeadWatch(std::unique_ptr<Client> client, Layout layout)
        : client_(std::move(client)), layout_(std::move(layout)) {}

    // Waits while `manager` is the manager. Returns when there is no manager or another one, or
    // soon after a stop was requested. Continues to wait while etcd cannot be reached.
    void await_change(const ManagerNode& manager, const std::stop_token& stop);

private:
    bool has_changed(const ManagerNode& manager, Revision& seen);
    bool changes(const ManagerNode& manager, const WatchResponse& response, Revision& seen) const;

    std::unique_ptr<Client> client_;
    Layout layout_;
};

}  // namespace rocklock::etcd
