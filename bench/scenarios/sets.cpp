// Sets of resources that overlap.
#include <algorithm>
#include <set>
#include <string>

#include "scenarios/all.hpp"
#include "scenarios/embedded.hpp"
#include "scenarios/work.hpp"

namespace rocklock::bench {
namespace {

constexpr std::size_t accounts = 64;

std::vector<std::string> draw_accounts(Worker& worker, std::size_t size) {
    std::set<std::size_t> numbers;
    while (numbers.size() < size) numbers.insert(worker.below(accounts));
    std::vector<std::string> names;
    for (const auto number : numbers) names.push_back("account/" + std::to_string(100 + number));
    return names;
}

void as_one(Worker& worker, std::size_t size) {
    std::vector<LockRequest> locks;
    for (auto& name : draw_accounts(worker, size)) locks.push_back({.resource = std::move(name)});
    const Guard guard = take(worker, std::move(locks), worker.waits);
    ++worker.done;
}

// Acquires the resources one by one in a global order, so that no deadlock can occur.
void in_order(Worker& worker, std::size_t size) {
    std::vector<Guard> guards;
    const auto start = std::chrono::steady_clock::now();
    Latencies each;
    for (auto& name : draw_accounts(worker, size)) {
        guards.push_back(take(worker, {{.resource = std::move(name)}}, each));
    }
    worker.waits.record(std::chrono::steady_clock::now() - start);
    ++worker.done;
}

// Acquires the resources one by one in random order. A request that would close a cycle is refused;
// the worker then releases all its locks and starts again.
void as_they_come(Worker& worker, std::size_t size) {
    auto names = draw_accounts(worker, size);
    std::shuffle(names.begin(), names.end(), worker.random);
    AcquireOptions options;
    options.patience = no_limit;
    const auto start = std::chrono::steady_clock::now();
    std::vector<Guard> guards;
    while (guards.size() < names.size()) {
        auto guard = worker.session.acquire({{.resource = names[guards.size()]}}, options);
        if (guard) {
            guards.push_back(*std::move(guard));
            continue;
        }
        if (guard.error().code != ErrorCode::deadlock) give_up("acquire", guard.error().message);
        ++worker.wasted;
        guards.clear();
    }
    worker.waits.record(std::chrono::steady_clock::now() - start);
    ++worker.done;
}

Contender of_sets(Database& database, const std::string& name, std::size_t size,
                  std::chrono::milliseconds duration, void (*once)(Worker&, std::size_t)) {
    return {name, [=, &database] {
                return work(database, usual_clients, duration,
                            [=](Worker& worker) { once(worker, size); });
            }};
}

void run_sets(Setting& setting) {
    Database database = setting.open(Store::durable);
    for (const std::string& size : setting.some<std::string>({"2", "3", "4", "6", "8"})) {
        const auto count = static_cast<std::size_t>(std::stoul(size));
        const auto rounds = setting.measure(
            size,
            {of_sets(database, "one atomic set", count, setting.duration(), as_one),
             of_sets(database, "one after the other, in order", count, setting.duration(),
                     in_order),
             of_sets(database, "one after the other, as they come", count, setting.duration(),
                     as_they_come)},
            {{"rate", rate_of}, {"late", one_of_a_hundred_of}, {"wasted", waste_of}});
        setting.compare({"sets of " + size + " of 64, durable, 16 threads", "sets/s",
                         "one after the other, in order"},
                        rounds[0], rounds[1]);
    }
    compare_sets(setting);
}

}  // namespace

Scenario sets() {
    const std::string x = "resources in a set, out of 64";
    return {"sets",
            "Overlapping sets of resources",
            "Each of sixteen threads needs several of 64 accounts at the same time. It acquires "
            "them in one of three ways: as one atomic set; one after the other, in the same order "
            "as all other threads; or one after the other, in random order ('as they come'). In "
            "the third way, a request that would cause a deadlock is refused; its thread then "
            "releases its locks and starts again.",
            {{"rate", "Overlapping sets, durable", x, Scale::linear, "sets a second", Scale::log,
              "more"},
             {"late", "Time to wait for a whole set, 99th percentile", x, Scale::linear,
              "microseconds", Scale::log, "less"},
             {"wasted", "Sets that were repeated because of a deadlock", x, Scale::linear,
              "percent of all attempts", Scale::linear, "less"}},
            run_sets};
}

}  // namespace rocklock::bench
