// What one contestant did in one round.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "latencies.hpp"

namespace rocklock::bench {

struct Sample {
    double seconds = 0;
    // What was done, by each client.
    std::vector<std::uint64_t> done;
    // How long each had to be waited for.
    Latencies waits;
    // Of the server and of this process.
    double processor_seconds = 0;
    // Some scenarios count what was in vain, and waits of another kind.
    std::uint64_t in_vain = 0;
    Latencies other_waits;

    std::uint64_t all_done() const;
};

double rate_of(const Sample& sample);
// Microseconds.
double half_of(const Sample& sample);
double one_of_a_hundred_of(const Sample& sample);
double one_of_a_thousand_of(const Sample& sample);
// jains_index() of what the clients got.
double fairness_of(const Sample& sample);
// Microseconds of processor time for each that was done.
double thrift_of(const Sample& sample);
// Of all that was tried, what was in vain, in percent.
double waste_of(const Sample& sample);

using Metric = std::function<double(const Sample&)>;
std::vector<double> values_of(const std::vector<Sample>& samples, const Metric& metric);

struct Contender {
    std::string name;
    std::function<Sample()> round;
};

}  // namespace rocklock::bench
