// bench_daemon: how fast the daemon locks over its socket, in frames, beside servers that people
// use for locks, where they are installed.
//
//     bench_daemon PROGRAM [--quick] [--json] [--rounds N] [--seconds S] [--directory DIR]
//                  [--only WORD] [--threads N]
//
// A pair is one acquire and one release of a free resource. Each client has a connection of its own
// and asks when it is answered; so many threads drive all of them (1). In the hand-off sixteen
// clients want one resource, and wait in the server's queue. docs/performance.md says what the
// rows mean and holds the last results.
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/client.hpp"
#include "daemon/server.hpp"
#include "measure.hpp"

namespace rocklock::bench {
namespace {

using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

struct Options {
    std::string program;
    std::size_t rounds = 5;
    milliseconds duration{1000};
    std::string directory = std::filesystem::temp_directory_path().string();
    // Only rows with this in their name.
    std::string only;
    std::size_t threads = 1;
    bool json = false;
};

// ---- Clients at work ----

struct Worker {
    std::unique_ptr<Client> client;
    std::string resource;
    bool holds = false;
    std::uint64_t pairs = 0;

    // The next request after an answer.
    void go_on(bool waits) {
        holds = !holds;
        if (holds) return client->give_back(resource);
        ++pairs;
        client->ask(resource, waits);
    }
};

// Runs on one thread until it is stopped; then everybody who holds something gives it back, so that
// nobody's wait is left.
void drive(const std::vector<Worker*>& workers, bool waits, const std::atomic<bool>& stop) {
    const int poll = ::epoll_create1(EPOLL_CLOEXEC);
    for (auto* worker : workers) {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.ptr = worker;
        ::epoll_ctl(poll, EPOLL_CTL_ADD, worker->client->fd(), &event);
        worker->client->ask(worker->resource, waits);
    }
    std::size_t active = workers.size();
    std::vector<epoll_event> events(workers.size());
    while (active > 0) {
        const int count =
            ::epoll_wait(poll, events.data(), static_cast<int>(events.size()), 10'000);
        if (count <= 0) give_up("a server does not answer");
        for (int i = 0; i < count; ++i) {
            auto& worker = *static_cast<Worker*>(events[static_cast<std::size_t>(i)].data.ptr);
            if (!worker.client->on_readable()) continue;
            if (stop && worker.holds) {
                --active;
            } else {
                worker.go_on(waits);
            }
        }
    }
    ::close(poll);
}

struct Result {
    double pairs_a_second = 0;
    // Jain's index of the clients' counts: 1 when all got the same.
    double fairness = 0;
};

Result measure(const Server& server, std::size_t clients, const Options& options, bool hand_off) {
    std::vector<Worker> workers(clients);
    for (std::size_t i = 0; i < clients; ++i) {
        workers[i].client = server.connect();
        workers[i].resource = hand_off ? "one" : "bench/" + std::to_string(i);
    }
    const std::size_t count = std::min(options.threads, clients);
    std::vector<std::vector<Worker*>> shares(count);
    for (std::size_t i = 0; i < clients; ++i) shares[i % count].push_back(&workers[i]);
    std::atomic<bool> stop{false};
    const auto begin = Steady::now();
    std::vector<std::jthread> threads;
    for (auto& share : shares) {
        threads.emplace_back([&stop, hand_off, share] { drive(share, hand_off, stop); });
    }
    std::this_thread::sleep_for(options.duration);
    stop = true;
    threads.clear();
    const std::chrono::duration<double> took = Steady::now() - begin;
    double sum = 0;
    double squares = 0;
    for (const auto& worker : workers) {
        const auto pairs = static_cast<double>(worker.pairs);
        sum += pairs;
        squares += pairs * pairs;
    }
    return {sum / took.count(), sum * sum / (static_cast<double>(clients) * squares)};
}

// ---- Rows ----

class Bench {
public:
    explicit Bench(Options options)
        : options_(std::move(options)),
          place_(options_.directory + "/bench_daemon." + std::to_string(::getpid())) {
        std::filesystem::create_directories(place_);
        // Servers that do not run as root make their folders in it.
        std::filesystem::permissions(place_, std::filesystem::perms::all);
    }
    Bench(const Bench&) = delete;
    Bench& operator=(const Bench&) = delete;
    ~Bench() {
        servers_.clear();
        std::error_code ignored;
        std::filesystem::remove_all(place_, ignored);
    }

    void run();

private:
    const Server& server(const std::string& name);
    void pairs(const std::string& ours, const std::string& theirs, std::size_t clients,
               double target);
    void hand_off(const std::string& ours, const std::string& theirs, std::optional<double> target);
    void add(Row row);

    const Options options_;
    const std::string place_;
    std::map<std::string, std::unique_ptr<Server>> servers_;
    std::vector<Row> rows_;
};

// Started when it is wanted first. All that were started stay: idle ones cost next to nothing.
const Server& Bench::server(const std::string& name) {
    auto& found = servers_[name];
    if (found) return *found;
    for (auto& contestant : contestants(options_.program, place_)) {
        if (contestant.name == name) found = std::make_unique<Server>(std::move(contestant));
    }
    return *found;
}

void Bench::add(Row row) {
    if (options_.json) print_json(std::cout, row);
    std::fprintf(stderr, "  %-34s %10.4g %-8s  %-28s %10.4g  %6.2f x (%.2f-%.2f)\n",
                 row.name.c_str(), row.ours.median, row.unit.c_str(), row.against.c_str(),
                 row.theirs.median, row.ratio.median, row.ratio.low, row.ratio.high);
    rows_.push_back(std::move(row));
}

void Bench::pairs(const std::string& ours, const std::string& theirs, std::size_t clients,
                  double target) {
    Row row;
    row.name = ours + ", " + std::to_string(clients) + (clients == 1 ? " client" : " clients");
    if ((row.name + " / " + theirs).find(options_.only) == std::string::npos) return;
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
        return [&] { return measure(server, clients, options_, false).pairs_a_second; };
    };
    add(compare(std::move(row), options_.rounds, rate(own), rate(other)));
}

void Bench::hand_off(const std::string& ours, const std::string& theirs,
                     std::optional<double> target) {
    Row row;
    row.name = ours + ", hand-off, 16 on one";
    if ((row.name + " / " + theirs).find(options_.only) == std::string::npos) return;
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
            const auto result = measure(server, 16, options_, true);
            if (counts) unfairest = std::min(unfairest, result.fairness);
            return result.pairs_a_second;
        };
    };
    add(compare(std::move(row), options_.rounds, rate(own, true), rate(other, false)));
    if (!target) return;
    Row fairness;
    fairness.name = ours + ", hand-off, Jain's index";
    fairness.unit = "at the least";
    fairness.ours = {unfairest, unfairest, unfairest};
    fairness.target = 0.99;
    add(std::move(fairness));
}

void Bench::run() {
    const std::string durable = "Rocklock, durable";
    const std::string written = "Rocklock, written";
    const std::string memory = "Rocklock, in memory";
    pairs(durable, "Redis, always synced", 1, 1.5);
    pairs(durable, "Redis, always synced", 16, 1);
    pairs(durable, "Redis, always synced", 64, 1.2);
    pairs(written, "Redis, synced every second", 64, 1);
    pairs(memory, "Redis, no log", 64, 1.5);
    pairs(memory, "memcached", 64, 1.2);
    pairs(durable, "etcd", 1, 5);
    pairs(durable, "etcd", 64, 10);
    pairs(durable, "PostgreSQL, row lock", 1, 1.8);
    pairs(durable, "PostgreSQL, row lock", 64, 4);
    hand_off(memory, "Redis, no log", 1.1);
    hand_off(durable, "Redis, always synced", 1);
    hand_off(durable, "PostgreSQL, row lock", std::nullopt);
    hand_off(durable, "etcd", std::nullopt);
    if (!options_.json) print_table(std::cout, rows_);
}

Options read_options(const std::vector<std::string>& words) {
    Options options;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const bool more = i + 1 < words.size();
        if (words[i] == "--quick") {
            options.rounds = 1;
            options.duration = milliseconds{50};
        } else if (words[i] == "--json") {
            options.json = true;
        } else if (words[i] == "--rounds" && more) {
            options.rounds = std::max<std::size_t>(std::stoul(words[++i]), 1);
        } else if (words[i] == "--seconds" && more) {
            options.duration = std::chrono::seconds{std::stol(words[++i])};
        } else if (words[i] == "--threads" && more) {
            options.threads = std::max<std::size_t>(std::stoul(words[++i]), 1);
        } else if (words[i] == "--only" && more) {
            options.only = words[++i];
        } else if (words[i] == "--directory" && more) {
            options.directory = words[++i];
        } else if (options.program.empty()) {
            options.program = words[i];
        } else {
            give_up("I don't understand " + words[i]);
        }
    }
    if (options.program.empty()) give_up("name the program rocklock first");
    return options;
}

}  // namespace
}  // namespace rocklock::bench

int main(int count, char** words) {
    using namespace rocklock::bench;
    Bench(read_options(std::vector<std::string>(words + 1, words + count))).run();
    return 0;
}
