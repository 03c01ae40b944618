// A connection to the cluster of etcd and the keys of a store in it.
#pragma once

#include <memory>
#include <string>

#include <rocklock/result.hpp>
#include <rocklock/storage/etcd.hpp>

#include "storage/etcd/client/client.hpp"
#include "storage/etcd/client/layout.hpp"

namespace rocklock::etcd {

struct Connection {
    std::unique_ptr<Client> client;
    Layout layout;
};

// Does not wait for etcd. Errors: invalid_argument (the URL), and those of load_client().
Result<Connection> open_connection(const std::string& url, const EtcdOptions& options);

}  // namespace rocklock::etcd
