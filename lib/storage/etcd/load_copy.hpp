// Loads all values of a store from etcd into a copy.
#pragma once

#include <chrono>

#include <rocklock/storage/storage.hpp>

#include "storage/etcd/client.hpp"
#include "storage/etcd/layout.hpp"

namespace rocklock::etcd {

// Reads the values as of `revision`, and writes them into `copy`, which must be empty. Each request
// waits at most for `timeout`.
//
// Errors: as Client; precondition_failed if the revision has been compacted meanwhile; those of
//         Storage::commit().
Result<void> load_copy(Client& client, const Layout& layout, Revision revision, Storage& copy,
                       std::chrono::milliseconds timeout);

}  // namespace rocklock::etcd
