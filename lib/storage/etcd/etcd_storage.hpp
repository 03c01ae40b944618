// Opens a store on etcd with a given client. open_etcd_storage() calls it with a client that uses
// gRPC; tests call it with a client of a fake etcd.
#pragma once

#include <memory>
#include <string>

#include <rocklock/clock.hpp>
#include <rocklock/storage/etcd.hpp>
#include <rocklock/storage/storage.hpp>

#include "storage/etcd/client/client.hpp"

namespace rocklock::etcd {

// As open_etcd_storage(). `prefix` must begin and end with a slash.
Result<std::unique_ptr<Storage>> open_storage(std::unique_ptr<Client> client,
                                              const std::string& prefix, Clock& clock,
                                              const EtcdOptions& options);

}  // namespace rocklock::etcd
