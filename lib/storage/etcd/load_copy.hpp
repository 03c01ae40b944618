// Loads all values of a store from etcd into a copy.
#pragma once

#include <chrono>
#include <cstdint>

#include <rocklock/storage/storage.hpp>

#include "storage/etcd/client.hpp"
#include "storage/etcd/layout.hpp"

namespace rocklock::etcd {

struct LoadSettings {
    // The maximum number of keys in one response.
    std::int64_t page_keys = 10'000;
    // The maximum time of one request.
    std::chrono::milliseconds timeout{30'000};
};

// Reads the values as of `revision`, and writes them into `copy`, which must be empty.
//
// Errors: as Client; precondition_failed if the revision has been compacted meanwhile; those of
//         Storage::commit().
Result<void> load_copy(Client& client, const Layout& layout, Revision revision, Storage& copy,
                       const LoadSettings& settings = {});

}  // namespace rocklock::etcd
