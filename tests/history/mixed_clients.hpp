// Clients that use locks over all interfaces of a daemon: frames, HTTP over the Unix socket and
// over TCP, and writes of DynamoDB's API that present a lock. Each client sends every operation
// over an interface that is chosen at random, all for the same session, and closes connections
// after answers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "history/daemon_table_access.hpp"
#include "support/linearizability.hpp"

namespace rocklock::proof {

// The addresses of a daemon.
struct DaemonAddress {
    std::string socket;
    std::uint16_t port = 0;
};

struct MixedRun {
    // Client number i uses addresses[i % addresses.size()].
    std::vector<DaemonAddress> addresses;
    std::size_t clients = 6;
    // The number of operations of all clients.
    std::size_t operations = 9'000;
    unsigned seed = 1;
    // If not null, daemons are killed while the clients run, and a client repeats a request whose
    // answer was lost until it has an answer. The number must be incremented before each kill, and
    // again when the daemon accepts connections.
    const std::atomic<unsigned>* kills = nullptr;
    // Another node can become the manager at any time, and clients repeat requests as with `kills`.
    bool takeovers = false;
    // If not null, the clients end when it becomes true.
    const std::atomic<bool>* stop = nullptr;
};

// Creates the table to which the clients write.
void make_orders_table(const TableDaemon& daemon);

// Returns the operations of all clients. An operation that was repeated was called at the time of
// its first request. Increments `done` after each operation.
//
// Errors: std::runtime_error if a client got an answer that no client can get.
std::vector<Operation> run_mixed_clients(const MixedRun& run, std::atomic<std::size_t>& done);

}  // namespace rocklock::proof
