// Ten thousand resources, some of which are requested more often than others.
#include <string>

#include "scenarios/all.hpp"
#include "scenarios/work.hpp"

namespace rocklock::bench {
namespace {

constexpr std::size_t zipf_resources = 10'000;

Contender of_popular(Database& database, const std::string& name, const Zipf& zipf,
                     std::chrono::milliseconds duration) {
    return {name, [&database, &zipf, duration] {
                return work(database, usual_clients, duration, [&](Worker& worker) {
                    Guard guard = take(worker, "stock/" + std::to_string(zipf.draw(worker.random)));
                    must(guard.release(), "release");
                    ++worker.done;
                });
            }};
}

void run_zipf(Setting& setting) {
    Database durable = setting.open(Store::durable);
    Database written = setting.open(Store::written);
    Database daemon = setting.connect(Store::durable);
    const Server* const server = setting.server("Rocklock, durable");
    for (const std::string& skew : setting.some<std::string>({"0", "0.5", "0.9", "1.2", "1.5"})) {
        const Zipf zipf(zipf_resources, std::stod(skew));
        setting.measure(
            skew,
            {of_popular(durable, "embedded, durable", zipf, setting.duration()),
             of_popular(written, "embedded, written", zipf, setting.duration()),
             served_by(server, of_popular(daemon, "daemon, durable", zipf, setting.duration()))},
            {{"rate", rate_of}, {"late", one_of_a_hundred_of}, {"fair", fairness_of}});
    }
}

}  // namespace

Scenario zipf() {
    const std::string x =
        "skew (0: all resources equally popular; 1.5: four of ten requests are for the first)";
    return {"zipf",
            "Ten thousand resources with skewed popularity",
            "Sixteen clients acquire and release random resources out of 10,000. The k-th resource "
            "is chosen with a probability proportional to 1/k^skew. On the left of the charts, "
            "almost all requests find their resource free. On the right, four of ten requests are "
            "for the same resource, and most clients wait in its queue at any time.",
            {{"rate", "Locks on resources with skewed popularity", x, Scale::linear,
              "acquire and release, pairs a second", Scale::log, "more"},
             {"late", "Time to acquire, 99th percentile", x, Scale::linear,
              "microseconds from asking to holding", Scale::log, "less"},
             {"fair", "Fairness between the clients", x, Scale::linear, "Jain's index: 1 is fair",
              Scale::linear, "more"}},
            run_zipf};
}

}  // namespace rocklock::bench
