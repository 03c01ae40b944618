// Clients that take locks of a server and give them back.
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
    // Each its own resource, which is free.
    own,
    // All the same one, for which they wait in the server's queue.
    the_same,
};

struct LockRun {
    double seconds = 0;
    // Pairs of one acquire and one release, by client.
    std::vector<std::uint64_t> pairs;
    // From the request to the grant.
    Latencies waits;

    double pairs_a_second() const;
};

using ConnectLocks = std::function<std::unique_ptr<LockClient>()>;

// So many clients, each with a connection of its own, which so many threads drive: each asks when
// it is answered.
LockRun measure_locks(const ConnectLocks& connect, Wanted wanted, std::size_t clients,
                      std::size_t threads, std::chrono::milliseconds duration);

}  // namespace rocklock::bench
