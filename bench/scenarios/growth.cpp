// The cost of a pair as the number of held locks and the number of connections grow.
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lock/contestants.hpp"
#include "lock/held.hpp"
#include "scenarios/all.hpp"
#include "scenarios/left_store.hpp"
#include "scenarios/lockers.hpp"
#include "scenarios/work.hpp"

namespace rocklock::bench {
namespace {

// Names from this number on are not used by the measured pairs.
constexpr std::size_t first_held = 100'000'000;
constexpr std::size_t threads = 16;
constexpr std::uint64_t memory_for_all = std::uint64_t{6} << 30;
// The files that this process and a server need beside the connections. The number is an estimate.
constexpr std::uint64_t other_files = 1'000;
// The target for the last step: its rate is at least this share of the rate of the first step.
constexpr double growth_target = 1 / 1.5;
constexpr double restart_10m_target_s = 1.5;

struct HeldStore {
    std::size_t held = 0;
    Database database;
};

Contender of_pairs(HeldStore& filled, std::chrono::milliseconds duration) {
    return {std::to_string(filled.held), [&filled, duration] {
                std::vector<Names> names;
                for (std::size_t i = 0; i < threads; ++i) names.emplace_back(i, 1024);
                return work(filled.database, threads, duration, [&](Worker& worker) {
                    Guard guard = take(worker, names[worker.index].next());
                    must(guard.release(), "release");
                    ++worker.done;
                });
            }};
}

// Returns the memory that the kernel estimates to be available, or 0 if it is unknown.
std::uint64_t available_bytes() {
    std::ifstream lines("/proc/meminfo");
    std::string name;
    std::uint64_t kilobytes = 0;
    while (lines >> name >> kilobytes && lines.ignore(80, '\n')) {
        if (name == "MemAvailable:") return kilobytes << 10;
    }
    return 0;
}

// All stores are open at the same time, so their lock tables are in memory together.
std::vector<std::size_t> sizes(Setting& setting) {
    auto sizes = setting.few<std::vector<std::size_t>>({10'000, 100'000, 1'000'000, 10'000'000},
                                                       {1'000, 2'000});
    if (sizes.back() == 10'000'000 && available_bytes() < memory_for_all) {
        setting.leave_out("10000000 held locks", "they take 6 GB of memory");
        sizes.pop_back();
    }
    return sizes;
}

// Measures the time from opening a copy of a store to its first grant.
void report_first_grants(Setting& setting, const LeftStore& left, std::size_t held) {
    std::vector<double> times;
    for (std::size_t round = 0; round < setting.rounds(); ++round) {
        times.push_back(left.open_embedded().seconds);
    }
    setting.report(
        {"first grant with " + short_of(held) + " held, Rocklock embedded, killed before", "s",
         restart_10m_target_s, true},
        std::move(times));
}

Database open_left(const LeftStore& left) {
    DatabaseOptions options;
    options.durability = Durability::written;
    return must(Database::open(left.path(), std::move(options)), "open");
}

// Keeps all stores open, and measures them in turn.
void measure_held(Setting& setting) {
    std::vector<std::unique_ptr<HeldStore>> all;
    std::vector<Contender> contenders;
    const auto counts = sizes(setting);
    for (const std::size_t held : counts) {
        if (held == counts.back()) {
            // Another process fills the largest store, and is killed.
            const LeftStore left(setting, first_held, held, End::killed);
            report_first_grants(setting, left, held);
            all.push_back(std::make_unique<HeldStore>(HeldStore{held, open_left(left)}));
        } else {
            all.push_back(
                std::make_unique<HeldStore>(HeldStore{held, setting.open(Store::written)}));
            hold_locks_quickly(all.back()->database, first_held, held);
        }
        contenders.push_back(of_pairs(*all.back(), setting.duration()));
        setting.progress("holds " + std::to_string(held));
    }
    const auto rounds = setting.in_turn(contenders);
    for (std::size_t i = 0; i < all.size(); ++i) {
        const std::string x = std::to_string(all[i]->held);
        setting.point("held", "Rocklock embedded, 16 threads", x, values_of(rounds[i], rate_of));
        setting.point("held-processor", "Rocklock embedded, 16 threads", x,
                      values_of(rounds[i], thrift_of));
        setting.print_metrics(x, "Rocklock embedded, 16 threads", rounds[i]);
    }
    const std::string last = std::to_string(all.back()->held);
    const std::string first = std::to_string(all.front()->held);
    setting.compare({"processor time of a pair while " + last + " are held", "µs",
                     "while " + first + " are", growth_target, true, thrift_of},
                    rounds.back(), rounds.front());
    setting.compare(
        {"pairs while " + last + " are held", "pairs/s", "while " + first + " are", growth_target},
        rounds.back(), rounds.front());
}

// Compares each kind of Rocklock store with the Redis configuration of the same durability.
void compare_at(Setting& setting, const std::string& connections,
                const std::vector<Contender>& contenders, const Setting::Rounds& rounds) {
    for (const auto& [ours, theirs] :
         {std::pair<std::string, std::string>{"Rocklock, durable", "Redis, always synced"},
          {"Rocklock, in memory", "Redis, no log"}}) {
        const auto at = [&contenders](const std::string& name) {
            return static_cast<std::size_t>(
                std::find_if(contenders.begin(), contenders.end(),
                             [&](const Contender& one) { return one.name == name; }) -
                contenders.begin());
        };
        if (at(theirs) == contenders.size()) continue;
        setting.compare(
            {"daemon" + ours.substr(ours.find(',')) + ", " + connections, "pairs/s", theirs, 1},
            rounds[at(ours)], rounds[at(theirs)]);
    }
}

// Raises the limit of open files of this process, and of the servers that it starts, as far as
// possible. Returns the limit.
std::uint64_t max_files() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    ::getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur;
}

void measure_connections(Setting& setting) {
    for (const std::size_t clients : setting.some<std::size_t>({1, 10, 100, 1'000, 10'000})) {
        if (clients + other_files > max_files()) {
            setting.leave_out(std::to_string(clients) + " connections",
                              "the limit of open files is too low");
            continue;
        }
        std::vector<Contender> contenders;
        for (const std::string name : {"Rocklock, durable", "Rocklock, in memory",
                                       "Redis, always synced", "Redis, no log"}) {
            const std::size_t before = contenders.size();
            add_clients(contenders, setting, name, {Wanted::own, clients});
            if (contenders.size() > before) contenders.back().name = name;
        }
        const std::string x = std::to_string(clients);
        const auto rounds = setting.measure(
            x, contenders, {{"connections", rate_of}, {"connections-late", one_of_a_hundred_of}});
        compare_at(setting, x + (clients == 1 ? " connection" : " connections"), contenders,
                   rounds);
    }
}

}  // namespace

Scenario growth() {
    return {"growth",
            "Very many held locks, and very many connections",
            "A pair is one acquire and one release of a free name. The first two charts show pairs "
            "while a number of other locks are held in the same store. The store with the most "
            "locks is filled by a process that is killed; its row shows the time from opening a "
            "copy to the first grant. The other charts show pairs "
            "over a number of connections, each of which sends the next request as soon as the "
            "previous one is answered. A level line means that the cost of a lock does not grow "
            "with the number of locks or connections.",
            {{"held", "Acquire and release while many other locks are held, written",
              "locks that are held", Scale::log, "acquire and release, pairs a second", Scale::log,
              "more"},
             {"held-processor", "Processor time of an acquire and release while others are held",
              "locks that are held", Scale::log, "microseconds of processor time", Scale::linear,
              "less"},
             {"connections", "Acquire and release by many connections", "connections", Scale::log,
              "acquire and release, pairs a second", Scale::log, "more"},
             {"connections-late", "Time to acquire by many connections, 99th percentile",
              "connections", Scale::log, "microseconds", Scale::log, "less"}},
            [](Setting& setting) {
                measure_held(setting);
                measure_connections(setting);
            }};
}

}  // namespace rocklock::bench
