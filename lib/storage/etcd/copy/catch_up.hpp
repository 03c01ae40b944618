// Brings the copy of a new manager to the state of the store.
#pragma once

#include <stop_token>

#include <rocklock/result.hpp>

#include "storage/etcd/client/client.hpp"
#include "storage/etcd/client/layout.hpp"
#include "storage/etcd/copy/copy.hpp"

namespace rocklock::etcd {

// Brings the copy to `position`, the state of the store at the election of this process. If the
// copy shows an earlier state, the changes since then are applied; otherwise all values are loaded.
// The caller must be the manager, so that no other process commits meanwhile.
//
// Errors: as load_copy(), which ends early if `stop` is requested; corrupt if etcd is older than
//         the copy, because acknowledged changes are then missing in etcd; corrupt if etcd has no
//         key `commit`, but has values, or the copy shows a store; unreachable if etcd is another
//         cluster that contains no store, while the copy shows one
Result<void> catch_up(Client& client, const Layout& layout, const CopyPosition& position,
                      Copy& copy, std::stop_token stop = {});

}  // namespace rocklock::etcd
