// Readers and writers of one resource.
#include <string>

#include "scenarios/all.hpp"
#include "scenarios/work.hpp"

namespace rocklock::bench {
namespace {

// The duration of the work under the lock, for readers and writers.
constexpr std::chrono::microseconds read_or_write_takes{1000};

enum class How : std::uint8_t { read_and_write, write_only };

Contender of_readers(Database& database, const std::string& name, How how, std::size_t reads,
                     std::chrono::milliseconds duration) {
    return {name, [&database, how, reads, duration] {
                return work(database, usual_clients, duration, [=](Worker& worker) {
                    const bool reader = worker.below(100) < reads;
                    const bool shared = reader && how == How::read_and_write;
                    const Guard guard = take(
                        worker, {{.resource = "prices", .mode = shared ? Mode::read : Mode::write}},
                        reader ? worker.other_waits : worker.waits);
                    hold(read_or_write_takes);
                    ++worker.done;
                });
            }};
}

double reader_of(const Sample& sample) { return sample.other_waits.quantile_us(0.99); }

void run_readers_and_writers(Setting& setting) {
    Database durable = setting.open(Store::durable);
    Database daemon = setting.connect(Store::durable);
    const Server* const server = setting.server("Rocklock, durable");
    for (const std::string& reads : setting.some<std::string>({"50", "75", "90", "95", "99"})) {
        const auto share = static_cast<std::size_t>(std::stoul(reads));
        setting.measure(
            reads,
            {of_readers(durable, "embedded, read and write", How::read_and_write, share,
                        setting.duration()),
             served_by(server, of_readers(daemon, "daemon, read and write", How::read_and_write,
                                          share, setting.duration())),
             of_readers(durable, "embedded, all in write", How::write_only, share,
                        setting.duration())},
            {{"rate", rate_of}, {"writer", one_of_a_hundred_of}, {"reader", reader_of}});
    }
}

}  // namespace

Scenario readers_and_writers() {
    const std::string x = "requests to read, percent";
    return {
        "readers_and_writers",
        "Readers and writers of one resource",
        "Sixteen clients acquire one resource in read or in write and hold it for a millisecond. "
        "Readers share the resource. Readers that arrive later do not overtake a waiting writer, "
        "so the wait of a writer is bounded, whatever the number of readers. For comparison, in "
        "the series 'all in write', readers also acquire the resource in write.",
        {{"rate", "Work done under one lock by readers and writers, durable", x, Scale::linear,
          "times held, a second", Scale::log, "more"},
         {"writer", "Time that writers wait, 99th percentile", x, Scale::linear, "microseconds",
          Scale::log, "less"},
         {"reader", "Time that readers wait, 99th percentile", x, Scale::linear, "microseconds",
          Scale::log, "less"}},
        run_readers_and_writers,
        "writers",
        "readers"};
}

}  // namespace rocklock::bench
