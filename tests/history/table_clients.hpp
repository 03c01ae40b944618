// Clients that do at random what tables allow, all with the same few items, and note what they saw.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "history/history.hpp"
#include "history/table_door.hpp"

namespace rocklock::proof {

struct ClientsOptions {
    std::size_t clients = 16;
    std::uint32_t keys = 5;
    // Of all clients together, at least.
    std::size_t requests = 1'500;
    std::uint32_t seed = 1;
    // Removals are on condition of what they remove: where answers may be missing.
    bool careful_removals = false;
};

struct ClientsRun {
    TableHistory history;
    // How many there were: "transact_write refused".
    std::map<std::string, std::size_t> counts;
    // What no client should have been answered.
    std::string problem;
};

// `open_door` is called by the thread that will use the door.
ClientsRun let_clients_run(const std::function<std::unique_ptr<TableDoor>()>& open_door,
                           const ClientsOptions& options);

}  // namespace rocklock::proof
