// Converts the writes of batches to the operations of one transaction.
#pragma once

#include <span>
#include <vector>

#include <rocklock/storage/storage.hpp>

#include "storage/etcd/client/client.hpp"
#include "storage/etcd/client/layout.hpp"

namespace rocklock::etcd {

// Returns one operation for each key: its last write. etcd refuses two writes of one key in a
// transaction. The order of the keys has no meaning, because a transaction has one moment.
std::vector<Operation> fold(const Layout& layout, std::span<Batch* const> batches);

}  // namespace rocklock::etcd
