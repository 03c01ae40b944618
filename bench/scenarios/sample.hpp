// The results of one contender in one round.
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
    // For each client, the number of completed operations.
    std::vector<std::uint64_t> done;
    // How long the clients waited for each operation.
    Latencies waits;
    // The processor time of this process during the round, and its memory at the end.
    double processor_seconds = 0;
    double megabytes = 0;
    // The processor time of the server during the round, and its memory at the end. Zero if there
    // is no server.
    double server_processor_seconds = 0;
    double server_megabytes = 0;
    // Used by some scenarios: the number of failed attempts, and durations of requests of a second
    // kind.
    std::uint64_t wasted = 0;
    Latencies other_waits;

    std::uint64_t all_done() const;
};

double rate_of(const Sample& sample);
// Return the median and the 99th percentile of the waits, in microseconds.
double half_of(const Sample& sample);
double one_of_a_hundred_of(const Sample& sample);
// Returns jains_index() of the numbers of operations of the clients.
double fairness_of(const Sample& sample);
// Return the processor time per operation in microseconds: of the clients and the server together,
// of the clients, and of the server.
double thrift_of(const Sample& sample);
double thrift_of_clients(const Sample& sample);
double thrift_of_server(const Sample& sample);
double megabytes_of_process(const Sample& sample);
double megabytes_of_server(const Sample& sample);
// Returns the percentage of all attempts that failed.
double waste_of(const Sample& sample);

using Metric = std::function<double(const Sample&)>;
std::vector<double> values_of(const std::vector<Sample>& samples, const Metric& metric);

class Server;

struct Contender {
    std::string name;
    std::function<Sample()> round;
    // The samples include the processor time and the memory of this server. May be null.
    const Server* server = nullptr;
};

// Returns `contender` with `server` as its server.
Contender served_by(const Server* server, Contender contender);

}  // namespace rocklock::bench
