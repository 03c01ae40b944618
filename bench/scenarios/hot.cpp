// One resource that all clients want.
#include <string>

#include "scenarios/all.hpp"
#include "scenarios/lockers.hpp"

namespace rocklock::bench {
namespace {

constexpr std::size_t hot_compared_at = 16;

void measure(Setting& setting, Store store, const std::vector<std::string>& others,
             const std::string& against, double target) {
    const std::string kind(name_of(store));
    const std::string chart = store == Store::durable ? "durable" : "memory";
    EmbeddedLocker embedded(setting, store);
    for (const std::size_t clients : setting.some<std::size_t>({2, 16, 256})) {
        std::vector<Contender> contenders;
        const std::string ours = "Rocklock, " + kind;
        add_clients(contenders, setting, ours, {Wanted::the_same, clients});
        add_clients(contenders, setting, ours, {Wanted::the_same, clients, Speech::http});
        contenders.push_back(embedded.contender(Wanted::the_same, clients, setting.duration()));
        for (const auto& name : others) {
            add_clients(contenders, setting, name, {Wanted::the_same, clients});
        }
        const auto rounds = setting.measure(std::to_string(clients), contenders,
                                            {{chart, rate_of},
                                             {chart + "-late", one_of_a_hundred_of},
                                             {chart + "-fair", fairness_of}},
                                            kind);
        if (clients != hot_compared_at) continue;
        for (std::size_t i = 0; i < contenders.size(); ++i) {
            if (contenders[i].name != against) continue;
            setting.compare(
                {"daemon, hand-off, 16 on one, " + kind, "hand-offs/s", against, target}, rounds[0],
                rounds[i]);
        }
        setting.report({"daemon, hand-off, 16 on one, " + kind + ", Jain's index", {}, 0.99},
                       values_of(rounds[0], fairness_of));
    }
    // Measures 2 and 256 clients again, in turn, so that other load affects both alike.
    std::vector<Contender> few_and_many;
    for (const std::size_t clients : {2, 256}) {
        add_clients(few_and_many, setting, "Rocklock, " + kind, {Wanted::the_same, clients});
    }
    const auto rounds = setting.in_turn(few_and_many);
    setting.compare({"daemon, hand-off, 256 on one, " + kind + ", in turn with 2", "hand-offs/s",
                     "2 on one", 0.5},
                    rounds[1], rounds[0]);
}

std::vector<Chart> charts_of(const std::string& name, const std::string& kind) {
    return {
        {name, "Hand-offs of one resource, " + kind, "clients that acquire it", Scale::log,
         "hand-offs a second", Scale::log, "more"},
        {name + "-late", "Time to wait for one resource, 99th percentile, " + kind,
         "clients that acquire it", Scale::log, "microseconds from asking to holding", Scale::log,
         "less"},
        {name + "-fair", "Fairness of the hand-offs of one resource, " + kind,
         "clients that acquire it", Scale::log, "Jain's index: 1 is fair", Scale::linear, "more"}};
}

}  // namespace

Scenario hot() {
    Scenario scenario{
        "hot", "One contended resource",
        "All clients acquire the same resource, wait in its queue, and release it immediately. The "
        "rate of hand-offs should not fall as the queue grows, and all clients should get equal "
        "shares. In a row, '16 on one' means that 16 clients acquire one resource. In etcd, a "
        "waiter watches the key of its predecessor in the queue. The watch begins at an earlier "
        "revision, and etcd serves such watches only every 100 ms.",
        charts_of("durable", "durable"), [](Setting& setting) {
            measure(setting, Store::durable,
                    {"Redis, always synced", "PostgreSQL, row lock", "etcd"},
                    "Redis, always synced", 1.5);
            measure(setting, Store::memory, {"Redis, no log", "PostgreSQL, advisory lock"},
                    "Redis, no log", 1.3);
            setting.leave_out("memcached", "it has no queue in which a client can wait for a key");
        }};
    for (auto& chart : charts_of("memory", "in memory")) {
        scenario.charts.push_back(std::move(chart));
    }
    return scenario;
}

}  // namespace rocklock::bench
