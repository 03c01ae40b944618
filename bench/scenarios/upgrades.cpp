// Clients that read first and then want to write.
#include <optional>
#include <string>

#include "scenarios/all.hpp"
#include "scenarios/work.hpp"

namespace rocklock::bench {
namespace {

constexpr std::size_t documents = 4;
constexpr std::chrono::microseconds read_takes{1000};
constexpr std::chrono::microseconds write_takes{500};

// Upgrades the lock to `write`. Returns false if the upgrade is refused: two readers that both want
// to upgrade would wait for each other, so the second upgrade is a deadlock.
bool convert(Guard& guard) {
    const auto converted = guard.convert(Mode::write, no_limit);
    if (!converted && converted.error().code != ErrorCode::deadlock) {
        give_up("convert", converted.error().message);
    }
    return converted.has_value();
}

void read_then_convert(Worker& worker, const std::string& document, bool writes) {
    const auto start = std::chrono::steady_clock::now();
    Latencies each;
    while (true) {
        Guard guard = take(worker, {{.resource = document, .mode = Mode::read}}, each);
        hold(read_takes);
        if (writes && !convert(guard)) {
            ++worker.wasted;
            continue;
        }
        if (writes) hold(write_takes);
        must(guard.release(), "release");
        break;
    }
    worker.waits.record(std::chrono::steady_clock::now() - start);
}

// Locks for writing from the start, whether or not the client will write.
void write_at_once(Worker& worker, const std::string& document, bool writes) {
    const auto start = std::chrono::steady_clock::now();
    Latencies each;
    Guard guard = take(worker, {{.resource = document, .mode = Mode::write}}, each);
    hold(read_takes);
    if (writes) hold(write_takes);
    must(guard.release(), "release");
    worker.waits.record(std::chrono::steady_clock::now() - start);
}

// Locks for writing only if it is known in advance that the client will write.
void as_known(Worker& worker, const std::string& document, bool writes) {
    if (writes) return write_at_once(worker, document, true);
    read_then_convert(worker, document, false);
}

Contender of_upgrading_readers(Database& database, const std::string& name, std::size_t writers,
                               std::chrono::milliseconds duration,
                               void (*once)(Worker&, const std::string&, bool)) {
    return {name, [=, &database] {
                return work(database, usual_clients, duration, [=](Worker& worker) {
                    const std::string document =
                        "documents/" + std::to_string(worker.below(documents));
                    once(worker, document, worker.below(100) < writers);
                    ++worker.done;
                });
            }};
}

void run_upgrades(Setting& setting) {
    Database database = setting.open(Store::durable);
    for (const std::string& writers :
         setting.some<std::string>({"0", "10", "25", "50", "75", "100"})) {
        const auto share = static_cast<std::size_t>(std::stoul(writers));
        const auto of = [&](const std::string& name, auto* once) {
            return of_upgrading_readers(database, name, share, setting.duration(), once);
        };
        const auto rounds = setting.measure(
            writers,
            {of("read, converted to write", read_then_convert),
             of("write from the beginning", write_at_once),
             of("read or write, if that is known before", as_known)},
            {{"rate", rate_of}, {"late", one_of_a_hundred_of}, {"wasted", waste_of}});
        setting.compare({"read and converted, " + writers + " of 100 write", "documents/s",
                         "write from the beginning"},
                        rounds[0], rounds[1]);
    }
}

}  // namespace

Scenario upgrades() {
    const std::string x = "readers that go on to write, percent";
    return {"upgrades",
            "Upgrades from read to write",
            "Sixteen clients read one of four documents for a millisecond, and some of them then "
            "write it for half a millisecond. They lock the document in one of three ways: in "
            "read, and convert the lock before they write; in write from the beginning; or in read "
            "or write, if a client knows beforehand whether it will write. If two readers of a "
            "document both convert, one of them is refused and must read again, so converting is "
            "faster only if few clients write.",
            {{"rate", "Documents that are read, and some written", x, Scale::linear,
              "documents a second", Scale::log, "more"},
             {"late", "Time from the first request to the end, 99th percentile", x, Scale::linear,
              "microseconds", Scale::log, "less"},
             {"wasted", "Upgrades that were repeated because another reader converted first", x,
              Scale::linear, "percent of all attempts", Scale::linear, "less"}},
            run_upgrades};
}

}  // namespace rocklock::bench
