// Clients that acquire and release locks of a server.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "daemon/client.hpp"
#include "latencies.hpp"

namespace rocklock::bench {

enum class Wanted : std::uint8_t {
    // Each client locks its own resource, which is free.
    own,
    // All clients lock the same resource and wait for it in the server's queue.
    the_same,
};

struct LockRun {
    double seconds = 0;
    // For each client, the number of pairs of one acquire and one release.
    std::vector<std::uint64_t> pairs;
    // The times from each request to its grant.
    Latencies waits;
    // With Wanted::the_same and one thread: the times from each release to the next grant.
    Latencies hand_offs;

    double pairs_a_second() const;
};

using ConnectLocks = std::function<std::unique_ptr<LockClient>()>;

// Measures `clients` clients, each with its own connection. `threads` threads drive the clients.
// When a client receives a response, it sends its next request.
LockRun measure_locks(const ConnectLocks& connect, Wanted wanted, std::size_t clients,
                      std::size_t threads, std::chrono::milliseconds duration);

}  // namespace rocklock::bench
