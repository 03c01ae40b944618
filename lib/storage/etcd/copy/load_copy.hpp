// Loads all values of a store from etcd into a copy.
#pragma once

#include <rocklock/result.hpp>

#include "storage/etcd/client/client.hpp"
#include "storage/etcd/client/layout.hpp"
#include "storage/etcd/copy/copy.hpp"
#include "storage/etcd/copy/read_values.hpp"

namespace rocklock::etcd {

// Deletes the contents of the copy, and loads the values at the revision of `position`.
//
// Errors: those of read_values(), and those of Copy
Result<void> load_copy(Client& client, const Layout& layout, const CopyPosition& position,
                       Copy& copy, const ReadSettings& settings = {});

}  // namespace rocklock::etcd
