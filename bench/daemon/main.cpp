// bench_daemon: the speed of the daemon's locks, compared with servers that are commonly used for
// locks. The clients of the daemon exchange messages with it in shared memory. Servers that are not
// installed are left out.
//
//     bench_daemon PROGRAM [--quick] [--json] [--rounds N] [--seconds S] [--directory DIR]
//                  [--only WORD] [--threads N] [--dynalite PROGRAM] [--dynamodb-local DIR]
//
// A pair is one acquire and one release of a free resource. Each client has its own connection and
// sends its next request when it receives a response. `--threads` sets the number of threads that
// drive the clients (default: 1). In the hand-off rows, sixteen clients wait for one resource in
// the server's queue. The rows for servers with DynamoDB's API measure calls for items over HTTP.
// docs/performance.md explains the rows and has the latest results.
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/client.hpp"
#include "daemon/lock_work.hpp"
#include "daemon/server.hpp"
#include "daemon/table_work.hpp"
#include "measure.hpp"
#include "report.hpp"

namespace rocklock::bench {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t table_clients = 16;

struct Options {
    CommonOptions common;
    Programs programs;
    std::size_t threads = 1;
};

// ---- Rows ----

class Bench {
public:
    explicit Bench(Options options)
        : options_(std::move(options)),
          directory_(options_.common.directory + "/bench_daemon." + std::to_string(::getpid())) {
        std::filesystem::create_directories(directory_);
        // Servers that do not run as root create their folders in this directory.
        std::filesystem::permissions(directory_, std::filesystem::perms::all);
    }
    Bench(const Bench&) = delete;
    Bench& operator=(const Bench&) = delete;
    ~Bench() {
        servers_.clear();
        std::error_code ignored;
        std::filesystem::remove_all(directory_, ignored);
    }

    void run();

private:
    const Server& server(const std::string& name);
    void pairs(const std::string& ours, const std::string& theirs, std::size_t clients,
               double target);
    void hand_off(const std::string& ours, const std::string& theirs, std::optional<double> target);
    // Measures calls for items over HTTP.
    void calls(TableWork work, const std::string& ours, const std::string& theirs,
               std::optional<double> target, Way way = Way::port);
    // Returns a running server with a filled table, or null if the server cannot be measured.
    const Server* table_server(const std::string& name);
    void tables();
    void add(Row row);

    const Options options_;
    const std::string directory_;
    std::map<std::string, std::unique_ptr<Server>> servers_;
    // The names of the servers with a filled table.
    std::set<std::string> filled_;
    std::vector<Row> rows_;
};

// Returns the server with this name; starts it at the first call. It keeps running afterwards,
// because an idle server costs almost no processor time.
const Server& Bench::server(const std::string& name) {
    auto& found = servers_[name];
    if (found) return *found;
    for (auto& contestant : contestants(options_.programs, directory_)) {
        if (contestant.name == name) found = std::make_unique<Server>(std::move(contestant));
    }
    return *found;
}

void Bench::add(Row row) {
    if (options_.common.json) print_json(std::cout, row);
    std::fprintf(stderr, "  %-60s %10.4g %-18s  %-26s %10.4g  %6.2f x (%.2f-%.2f)\n",
                 row.name.c_str(), row.ours.median, row.unit.c_str(), row.against.c_str(),
                 row.theirs.median, row.ratio.median, row.ratio.low, row.ratio.high);
    rows_.push_back(std::move(row));
}

void Bench::pairs(const std::string& ours, const std::string& theirs, std::size_t clients,
                  double target) {
    Row row;
    row.name = ours + ", " + std::to_string(clients) + (clients == 1 ? " client" : " clients");
    if ((row.name + " / " + theirs).find(options_.common.only) == std::string::npos) return;
    const Server& own = server(ours);
    const Server& other = server(theirs);
    if (!own.why_not().empty()) give_up(ours + ": " + own.why_not());
    if (!other.why_not().empty()) {
        std::cerr << "  left out: " << theirs << ": " << other.why_not() << std::endl;
        return;
    }
    row.unit = "pairs/s";
    row.against = theirs;
    row.target = target;
    const auto rate = [&](const Server& server) {
        return [&] {
            return measure_locks([&] { return server.connect(); }, Wanted::own, clients,
                                 options_.threads, options_.common.duration)
                .pairs_a_second();
        };
    };
    add(compare(std::move(row), options_.common.rounds, rate(own), rate(other)));
}

void Bench::hand_off(const std::string& ours, const std::string& theirs,
                     std::optional<double> target) {
    Row row;
    row.name = ours + ", hand-off, 16 on one";
    if ((row.name + " / " + theirs).find(options_.common.only) == std::string::npos) return;
    const Server& own = server(ours);
    const Server& other = server(theirs);
    if (!other.why_not().empty()) {
        std::cerr << "  left out: " << theirs << ": " << other.why_not() << std::endl;
        return;
    }
    row.unit = "a second";
    row.against = theirs;
    row.target = target;
    double unfairest = 1;
    const auto rate = [&](const Server& server, bool counts) {
        return [&, counts] {
            const auto run = measure_locks([&] { return server.connect(); }, Wanted::the_same, 16,
                                           options_.threads, options_.common.duration);
            if (counts) unfairest = std::min(unfairest, jains_index(run.pairs));
            return run.pairs_a_second();
        };
    };
    add(compare(std::move(row), options_.common.rounds, rate(own, true), rate(other, false)));
    if (!target) return;
    Row fairness;
    fairness.name = ours + ", hand-off, Jain's index";
    fairness.unit = "at the least";
    fairness.ours = {unfairest, unfairest, unfairest};
    fairness.target = 0.99;
    add(std::move(fairness));
}

const Server* Bench::table_server(const std::string& name) {
    const Server& found = server(name);
    if (!found.why_not().empty()) return nullptr;
    if (!filled_.insert(name).second) return &found;
    const auto connect = [&found] { return found.connect_soon(Way::port); };
    fill_table(connect, table_clients);
    // Warms up the server: some compile code that runs often.
    for (const auto work : {TableWork::get, TableWork::put, TableWork::pair}) {
        measure_table(connect, work, table_clients, options_.threads, 3 * options_.common.duration);
    }
    return &found;
}

void Bench::calls(TableWork work, const std::string& ours, const std::string& theirs,
                  std::optional<double> target, Way way) {
    static const std::map<TableWork, std::string> names = {
        {TableWork::get, "GetItem"},
        {TableWork::put, "PutItem"},
        {TableWork::pair, "conditional put and delete"}};
    Row row;
    row.name = names.at(work) + ", " + ours.substr(ours.find(',') + 2) + ", " +
               std::to_string(table_clients) + " clients";
    if (way == Way::socket) row.name += ", Unix socket";
    if ((row.name + " / " + theirs).find(options_.common.only) == std::string::npos) return;
    const auto* const own = table_server(ours);
    const auto* const other = table_server(theirs);
    if (own == nullptr) give_up(ours + ": " + server(ours).why_not());
    if (other == nullptr) {
        std::cerr << "  left out: " << theirs << ": " << server(theirs).why_not() << std::endl;
        return;
    }
    const std::string what = work == TableWork::pair ? "pairs" : "calls";
    row.unit = what + "/s";
    row.against = theirs;
    row.target = target;
    // The number of calls per second of the server's processor time. Other load on the machine
    // affects this value less than it affects the number of calls per second of elapsed time.
    std::vector<double> our_thrift;
    std::vector<double> their_thrift;
    const auto rate = [&](const Server* server, std::vector<double>& thrift) {
        return [&, server] {
            const double before = server->processor_seconds();
            const auto done =
                measure_table([&] { return server->connect_soon(way); }, work, table_clients,
                              options_.threads, options_.common.duration);
            thrift.push_back(done.pieces / (server->processor_seconds() - before));
            return done.pieces / done.seconds;
        };
    };
    Row thrift = row;
    add(compare(std::move(row), options_.common.rounds, rate(own, our_thrift),
                rate(other, their_thrift)));
    thrift.name += ", server's processor time";
    thrift.unit = what + " for a second";
    thrift.target.reset();
    std::vector<double> ratios;
    for (std::size_t i = 1; i < our_thrift.size(); ++i) {
        ratios.push_back(our_thrift[i] / their_thrift[i]);
    }
    thrift.ours = spread_of({our_thrift.begin() + 1, our_thrift.end()});
    thrift.theirs = spread_of({their_thrift.begin() + 1, their_thrift.end()});
    thrift.ratio = spread_of(std::move(ratios));
    add(std::move(thrift));
}

void Bench::tables() {
    const std::string durable = "Rocklock, durable";
    const std::string written = "Rocklock, written";
    const std::string memory = "Rocklock, in memory";
    const std::string dynalite = "dynalite, in memory";
    const std::string local = "DynamoDB Local, in memory";
    calls(TableWork::get, memory, dynalite, 6);
    calls(TableWork::get, memory, local, 6);
    calls(TableWork::get, memory, dynalite, std::nullopt, Way::socket);
    calls(TableWork::get, written, "dynalite, LevelDB", std::nullopt);
    calls(TableWork::get, written, "DynamoDB Local, on file", std::nullopt);
    calls(TableWork::put, written, dynalite, 6);
    calls(TableWork::put, written, local, 15);
    calls(TableWork::put, written, dynalite, std::nullopt, Way::socket);
    calls(TableWork::pair, durable, "dynalite, LevelDB", 6);
    calls(TableWork::pair, durable, "DynamoDB Local, on file", 40);
    calls(TableWork::pair, durable, "dynalite, LevelDB", std::nullopt, Way::socket);
}

void Bench::run() {
    const std::string durable = "Rocklock, durable";
    const std::string written = "Rocklock, written";
    const std::string memory = "Rocklock, in memory";
    pairs(durable, "Redis, always synced", 1, 2);
    pairs(durable, "Redis, always synced", 16, 1.5);
    pairs(durable, "Redis, always synced", 64, 2);
    pairs(written, "Redis, synced every second", 64, 1);
    pairs(memory, "Redis, no log", 64, 1.2);
    pairs(memory, "memcached", 64, 1.2);
    pairs(durable, "etcd", 1, 7);
    pairs(durable, "etcd", 64, 15);
    pairs(durable, "PostgreSQL, row lock", 1, 1.8);
    pairs(durable, "PostgreSQL, row lock", 64, 6);
    hand_off(memory, "Redis, no log", 1.3);
    hand_off(durable, "Redis, always synced", 1.5);
    hand_off(durable, "PostgreSQL, row lock", std::nullopt);
    hand_off(durable, "etcd", std::nullopt);
    tables();
    if (!options_.common.json) print_table(std::cout, rows_);
}

Options read_options(int argc, char** argv) {
    Options options;
    options.common = read_arguments(
        argc, argv, "PROGRAM [--threads N] [--dynalite PROGRAM] [--dynamodb-local DIR]",
        [&](std::string_view word, const NextValue& value) {
            if (word == "--threads") {
                const std::string_view text = value();
                const char* const end = text.data() + text.size();
                const auto read = std::from_chars(text.data(), end, options.threads);
                if (read.ec != std::errc() || read.ptr != end || options.threads == 0) {
                    give_up("--threads is '" + std::string(text) + "'; give a number above 0");
                }
                return true;
            }
            if (word == "--dynalite") {
                options.programs.dynalite = value();
            } else if (word == "--dynamodb-local") {
                options.programs.dynamodb_local = value();
            } else if (options.programs.rocklock.empty() && !word.starts_with('-')) {
                options.programs.rocklock = word;
            } else {
                return false;
            }
            return true;
        });
    if (options.programs.rocklock.empty()) give_up("name the program rocklock first");
    return options;
}

}  // namespace
}  // namespace rocklock::bench

int main(int argc, char** argv) {
    using namespace rocklock::bench;
    Bench(read_options(argc, argv)).run();
    return 0;
}
