#include "scenarios/sample.hpp"

#include <numeric>

#include "measure.hpp"

namespace rocklock::bench {

std::uint64_t Sample::all_done() const {
    return std::accumulate(done.begin(), done.end(), std::uint64_t{0});
}

double rate_of(const Sample& sample) {
    return static_cast<double>(sample.all_done()) / sample.seconds;
}

double half_of(const Sample& sample) { return sample.waits.quantile_us(0.5); }
double one_of_a_hundred_of(const Sample& sample) { return sample.waits.quantile_us(0.99); }

double fairness_of(const Sample& sample) { return jains_index(sample.done); }

double thrift_of(const Sample& sample) {
    return thrift_of_clients(sample) + thrift_of_server(sample);
}
double thrift_of_clients(const Sample& sample) {
    return sample.processor_seconds * 1e6 / static_cast<double>(sample.all_done());
}
double thrift_of_server(const Sample& sample) {
    return sample.server_processor_seconds * 1e6 / static_cast<double>(sample.all_done());
}
double megabytes_of_process(const Sample& sample) { return sample.megabytes; }
double megabytes_of_server(const Sample& sample) { return sample.server_megabytes; }

double waste_of(const Sample& sample) {
    const auto wasted = static_cast<double>(sample.wasted);
    const double all = wasted + static_cast<double>(sample.all_done());
    return all == 0 ? 0 : 100 * wasted / all;
}

std::vector<double> values_of(const std::vector<Sample>& samples, const Metric& metric) {
    std::vector<double> values;
    for (const Sample& sample : samples) values.push_back(metric(sample));
    return values;
}

Contender served_by(const Server* server, Contender contender) {
    contender.server = server;
    return contender;
}

}  // namespace rocklock::bench
