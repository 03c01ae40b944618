// Clients that perform random table operations on the same few items and record the results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "history/history.hpp"
#include "history/table_access.hpp"

namespace rocklock::proof {

struct ClientsOptions {
    std::size_t clients = 16;
    std::uint32_t keys = 5;
    // The minimum total number of requests of all clients.
    std::size_t requests = 1'500;
    std::uint32_t seed = 1;
    // If true, each removal has a condition with the version that it removes. This is needed if
    // responses may be lost.
    bool careful_removals = false;
};

struct ClientsRun {
    TableHistory history;
    // The number of requests by kind and result, such as "transact_write refused".
    std::map<std::string, std::size_t> counts;
    // A description of the first response that is not allowed. Empty if there is none.
    std::string problem;
};

// `open_access` is called by the thread that will use the access.
ClientsRun run_clients(const std::function<std::unique_ptr<TableAccess>()>& open_access,
                       const ClientsOptions& options);

}  // namespace rocklock::proof
