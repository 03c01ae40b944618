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
    // Of this process, and its memory when all was done.
    double processor_seconds = 0;
    double megabytes = 0;
    // Of the server, and its memory when all was done; nothing where there is none.
    double server_processor_seconds = 0;
    double server_megabytes = 0;
    // Some scenarios count what was in vain, and waits of another kind.
    std::uint64_t in_vain = 0;
    Latencies other_waits;

    std::uint64_t all_done() const;
};

double rate_of(const Sample& sample);
// Microseconds.
double half_of(const Sample& sample);
double one_of_a_hundred_of(const Sample& sample);
// jains_index() of what the clients got.
double fairness_of(const Sample& sample);
// Microseconds of processor time for each that was done: of this process and the server; of each.
double thrift_of(const Sample& sample);
double thrift_of_clients(const Sample& sample);
double thrift_of_server(const Sample& sample);
double megabytes_of_process(const Sample& sample);
double megabytes_of_server(const Sample& sample);
// Of all that was tried, what was in vain, in percent.
double waste_of(const Sample& sample);

using Metric = std::function<double(const Sample&)>;
std::vector<double> values_of(const std::vector<Sample>& samples, const Metric& metric);

class Server;

struct Contender {
    std::string name;
    std::function<Sample()> round;
    // Whose processor time and memory count too; may be none.
    const Server* server = nullptr;
};

// The same, with the server that it asks.
Contender served_by(const Server* server, Contender contender);

}  // namespace rocklock::bench
