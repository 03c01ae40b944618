// Compares one lock for an order and its members with one lock for each member.
#include <numeric>
#include <string>

#include "scenarios/all.hpp"
#include "scenarios/work.hpp"

namespace rocklock::bench {
namespace {

constexpr std::size_t members = 64;
// The number of orders that sixteen editors share.
constexpr std::size_t shared_orders = 16;
constexpr std::size_t editors = 16;
constexpr std::chrono::microseconds edit_takes{1000};

std::string order_of(std::size_t number) { return "orders/" + std::to_string(1000 + number); }

// Returns `count` different members of the order, sorted by name.
std::vector<std::string> draw_members(Worker& worker, const std::string& order, std::size_t count) {
    std::vector<std::string> names;
    std::size_t left = count;
    for (std::size_t i = 0; i < members && left > 0; ++i) {
        if (worker.below(members - i) >= left) continue;
        names.push_back(order + "/line/" + std::to_string(10 + i));
        --left;
    }
    return names;
}

using Take = std::vector<Guard> (*)(Worker& worker, const std::string& order, std::size_t count);

std::vector<Guard> take_root(Worker& worker, const std::string& order, std::size_t /*count*/) {
    std::vector<Guard> guards;
    guards.push_back(
        take(worker, {{.resource = order, .mode = Mode::write, .subtree = true}}, worker.waits));
    return guards;
}

std::vector<Guard> take_set(Worker& worker, const std::string& order, std::size_t count) {
    std::vector<LockRequest> locks;
    for (auto& name : draw_members(worker, order, count)) {
        locks.push_back({.resource = std::move(name), .mode = Mode::write});
    }
    std::vector<Guard> guards;
    guards.push_back(take(worker, std::move(locks), worker.waits));
    return guards;
}

std::vector<Guard> take_each(Worker& worker, const std::string& order, std::size_t count) {
    std::vector<Guard> guards;
    const auto start = std::chrono::steady_clock::now();
    Latencies each;
    for (auto& name : draw_members(worker, order, count)) {
        guards.push_back(take(worker, {{.resource = std::move(name), .mode = Mode::write}}, each));
    }
    worker.waits.record(std::chrono::steady_clock::now() - start);
    return guards;
}

// One editor that edits one order after the other; no order is shared.
Contender of_one(Database& database, const std::string& name, std::size_t count,
                 std::chrono::milliseconds duration, Take how) {
    return {name, [=, &database] {
                return work(database, 1, duration, [=](Worker& worker) {
                    const auto guards = how(worker, order_of(worker.done % 1000), count);
                    ++worker.done;
                });
            }};
}

// Editors that share the orders.
Contender of_many(Database& database, const std::string& name, std::size_t count,
                  std::chrono::milliseconds duration, Take how) {
    return {name, [=, &database] {
                return work(database, editors, duration, [=](Worker& worker) {
                    const auto guards = how(worker, order_of(worker.below(shared_orders)), count);
                    hold(edit_takes);
                    ++worker.done;
                });
            }};
}

void run_coarse(Setting& setting) {
    Database database = setting.open(Store::durable);
    const std::vector<std::pair<std::string, Take>> ways = {
        {"one lock for the order", take_root},
        {"one per member, as one set", take_set},
        {"one per member, one after the other", take_each}};
    for (const std::string& count : setting.some<std::string>({"1", "4", "16", "64"})) {
        const auto edited = static_cast<std::size_t>(std::stoul(count));
        std::vector<Contender> alone;
        std::vector<Contender> together;
        for (const auto& [name, how] : ways) {
            alone.push_back(of_one(database, name, edited, setting.duration(), how));
            together.push_back(of_many(database, name, edited, setting.duration(), how));
        }
        const auto cost = setting.measure(count, alone, {{"cost", rate_of}}, "alone");
        const auto shared = setting.measure(
            count, together, {{"shared", rate_of}, {"late", one_of_a_hundred_of}}, "16 editors");
        const std::string of = count + " of " + std::to_string(members) + " members";
        setting.compare(
            {"one lock for the order, alone, " + of, "edits/s", "one per member, as one set"},
            cost[0], cost[1]);
        setting.compare(
            {"one lock for the order, 16 editors, " + of, "edits/s", "one per member, as one set"},
            shared[0], shared[1]);
    }
}

}  // namespace

Scenario coarse() {
    const std::string x = "edited members, out of the 64 members of an order";
    return {
        "coarse",
        "One lock for an order, or one for each of its members",
        "An editor changes some of the 64 members of an order. It locks either the order with all "
        "its members, or only the members that it changes, as one set or one after the other. A "
        "lock on the order costs the same with any number of members, but it also blocks editors "
        "of other members. In the charts with sixteen editors, the editors share sixteen orders "
        "and hold their locks for a millisecond.",
        {{"cost", "Edits by one client alone", x, Scale::log, "edits a second", Scale::log, "more"},
         {"shared", "Sixteen editors of sixteen orders", x, Scale::log, "edits a second",
          Scale::log, "more"},
         {"late", "Sixteen editors: wait before an edit, 99th percentile", x, Scale::log,
          "microseconds", Scale::log, "less"}},
        run_coarse};
}

}  // namespace rocklock::bench
