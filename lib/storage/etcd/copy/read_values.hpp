// Reads all values of a store in etcd.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

#include <rocklock/result.hpp>
#include <rocklock/storage/storage.hpp>

#include "storage/etcd/client/client.hpp"
#include "storage/etcd/client/layout.hpp"

namespace rocklock::etcd {

struct ReadSettings {
    // The maximum number of keys in one response.
    std::int64_t page_keys = 10'000;
    // The maximum time of one request.
    std::chrono::milliseconds timeout{30'000};
    // Ends the reading early.
    std::stop_token stop{};
};

// Receives some values of one family, in the order of their keys.
using VisitValues = std::function<Result<void>(Family family, std::vector<Write> values)>;

// Reads all values at one revision, one family after the other, and passes them to `visit`.
//
// Errors: as Client; precondition_failed if the revision has been compacted; closing if a stop was
//         requested; the errors of `visit`, which end the reading
Result<void> read_values(Client& client, const Layout& layout, Revision revision,
                         const VisitValues& visit, const ReadSettings& settings = {});

}  // namespace rocklock::etcd
