// Applies the changes of a store that a watch of etcd reports to a copy.
#pragma once

#include <memory>

#include <rocklock/result.hpp>

#include "storage/etcd/client/client.hpp"
#include "storage/etcd/client/layout.hpp"
#include "storage/etcd/copy/copy.hpp"

namespace rocklock::etcd {

// Starts a watch of the changes after the position of the copy, which must be loaded.
//
// Errors: as Client; precondition_failed if the copy must be loaded again, because its last commit
//         is not a commit of this store, or because later changes have been compacted. next() of
//         the watch can also return this error
Result<std::unique_ptr<Watch>> watch_changes(Client& client, const Layout& layout,
                                             const Copy& copy);

// Applies the changes, one step for each revision. Changes that the copy already contains are
// skipped. Errors: those of Copy::write(); corrupt if the key `commit` was deleted
Result<void> apply_changes(const Layout& layout, WatchResponse response, Copy& copy);

}  // namespace rocklock::etcd
