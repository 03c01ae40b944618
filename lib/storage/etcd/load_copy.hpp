// Loads all values of a store from etcd into a copy.
#pragma once

#include <chrono>
#include <cstdint>
#include <stop_token>

#include <rocklock/result.hpp>

#include "storage/etcd/client.hpp"
#include "storage/etcd/copy.hpp"
#include "storage/etcd/layout.hpp"

namespace rocklock::etcd {

struct LoadSettings {
    // The maximum number of keys in one response.
    std::int64_t page_keys = 10'000;
    // The maximum time of one request.
    std::chrono::milliseconds timeout{30'000};
    // Ends the loading early.
    std::stop_token stop{};
};

// Deletes the contents of the copy, and loads the values at the revision of `position`.
//
// Errors: as Client; precondition_failed if the revision has been compacted meanwhile; closing if
//         `stop` was requested; those of Copy.
Result<void> load_copy(Client& client, const Layout& layout, const CopyPosition& position,
                       Copy& copy, const LoadSettings& settings = {});

}  // namespace rocklock::etcd
