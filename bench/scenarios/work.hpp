// Clients at work: threads of this process, each with a session of its own.
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

// One of them. It counts what it did.
struct Worker {
    std::size_t place = 0;
    Session session;
    // The same for every run.
    std::mt19937_64 random{1};
    std::uint64_t done = 0;
    std::uint64_t in_vain = 0;
    Latencies waits;
    Latencies other_waits;

    // A number below the end.
    std::size_t below(std::size_t end) { return static_cast<std::size_t>(random() % end); }
};

using Once = std::function<void(Worker&)>;

// So many, each doing it over and over.
Sample work(Database& database, std::size_t workers, std::chrono::milliseconds duration,
            const Once& once);

// Takes them, waiting as long as it takes, and notes how long that was.
Guard take(Worker& worker, std::vector<LockRequest> locks, Latencies& waits);
Guard take(Worker& worker, const std::string& resource, Mode mode = Mode::write);

// Holds it for so long, as who works with it does.
void hold(std::chrono::microseconds duration);

// Numbers below the end, of which the first is wanted most: the k-th as often as 1/k^skew (Zipf).
class Zipf {
public:
    Zipf(std::size_t end, double skew);
    std::size_t draw(std::mt19937_64& random) const;

private:
    std::vector<double> sums_;
};

// Of this process, user and kernel.
double processor_seconds();

}  // namespace rocklock::bench
