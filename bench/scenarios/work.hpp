// Threads of this process that work as clients, each with its own session.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <rocklock/database.hpp>

#include "scenarios/sample.hpp"

namespace rocklock::bench {

// The number of clients in scenarios that do not vary it.
constexpr std::size_t usual_clients = 16;

// A client and its counters.
struct Worker {
    std::size_t index = 0;
    Session session;
    // Seeded with the client's number, so that every run uses the same sequence.
    // NOLINTNEXTLINE(bugprone-random-generator-seed,cert-msc32-c,cert-msc51-cpp)
    std::mt19937_64 random{1};
    std::uint64_t done = 0;
    std::uint64_t wasted = 0;
    Latencies waits;
    Latencies other_waits;

    // Returns a random number less than `end`.
    std::size_t below(std::size_t end) { return static_cast<std::size_t>(random() % end); }
};

using Once = std::function<void(Worker&)>;

// `workers` threads repeat `once` for `duration`. Returns the sum of their counters.
Sample work(Database& database, std::size_t workers, std::chrono::milliseconds duration,
            const Once& once);

// Acquires the locks without a time limit, and records the duration in `waits`.
Guard take(Worker& worker, std::vector<LockRequest> locks, Latencies& waits);
Guard take(Worker& worker, const std::string& resource, Mode mode = Mode::write);

// Sleeps for `duration`, to simulate a client that works while it holds a lock.
void hold(std::chrono::microseconds duration);

// Random numbers less than `end` with a Zipf distribution: the k-th number has a probability
// proportional to 1/k^skew.
class Zipf {
public:
    Zipf(std::size_t end, double skew);
    std::size_t draw(std::mt19937_64& random) const;

private:
    std::vector<double> sums_;
};

// Returns the processor time of this process, in user mode and in the kernel.
double processor_seconds();

}  // namespace rocklock::bench
