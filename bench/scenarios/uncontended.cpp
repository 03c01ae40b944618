// Resources that only one client wants.
#include <optional>
#include <string>

#include "lock/contestants.hpp"
#include "scenarios/all.hpp"
#include "scenarios/embedded.hpp"
#include "scenarios/lockers.hpp"

namespace rocklock::bench {
namespace {

constexpr std::size_t max_clients = 64;

struct Targets {
    std::string against;
    std::size_t clients;
    // The target for the daemon.
    std::optional<double> target{};
    Speech speech = Speech::its_own;
};

std::vector<Targets> targets_of(Store store) {
    switch (store) {
        case Store::durable:
            return {{"Redis, always synced", 1, 2},
                    {"Redis, always synced", 16, 1.5},
                    {"Redis, always synced", 64, 2},
                    {"Redis, always synced", 64, 1.5, Speech::http},
                    {"etcd", 1, 7},
                    {"etcd", 64, 15},
                    {"PostgreSQL, row lock", 1, 1.8},
                    {"PostgreSQL, row lock", 64, 6}};
        case Store::written:
            return {{"Redis, synced every second", 16},
                    {"Redis, synced every second", 64, 1},
                    {"Redis, synced every second", 64, 0.8, Speech::http}};
        case Store::memory:
            return {{"Redis, no log", 16},
                    {"Redis, no log", 64, 1.2},
                    {"Redis, no log", 64, 0.8, Speech::http},
                    {"memcached", 64, 1.2}};
    }
    return {};
}

std::vector<std::string> others_of(Store store) {
    switch (store) {
        case Store::durable:
            return {"Redis, always synced", "PostgreSQL, row lock", "etcd"};
        case Store::written:
            return {"Redis, synced every second"};
        case Store::memory:
            return {"Redis, no log", "memcached", "PostgreSQL, advisory lock"};
    }
    return {};
}

void compare_daemon(Setting& setting, Store store, std::size_t clients,
                    const std::vector<Contender>& contenders, const Setting::Rounds& rounds) {
    const std::string at = std::string(name_of(store)) + ", " + std::to_string(clients) +
                           (clients == 1 ? " client" : " clients");
    for (const auto& [against, compared_at, target, speech] : targets_of(store)) {
        if (compared_at != clients) continue;
        for (std::size_t i = 0; i < contenders.size(); ++i) {
            if (contenders[i].name != against) continue;
            // rounds[0] is the daemon with frames, rounds[1] the daemon over HTTP.
            const bool over_http = speech == Speech::http;
            setting.compare(
                {(over_http ? "over HTTP, " : "daemon, ") + at, "pairs/s", against, target},
                rounds[over_http ? 1 : 0], rounds[i]);
            if (clients != max_clients || over_http || !against.starts_with("Redis")) continue;
            setting.compare({"daemon, " + at + ", 99th percentile to acquire", "µs", against, 1.0,
                             true, one_of_a_hundred_of},
                            rounds[0], rounds[i]);
        }
    }
}

void measure(Setting& setting, Store store, const std::string& chart) {
    const std::string kind(name_of(store));
    EmbeddedLocker embedded(setting, store);
    std::optional<TransactionDb> transactions;
    if (store != Store::memory) transactions.emplace(setting.folder(), store == Store::durable);
    for (const std::size_t clients : setting.some<std::size_t>({1, 16, max_clients})) {
        std::vector<Contender> contenders;
        add_clients(contenders, setting, "Rocklock, " + kind, {Wanted::own, clients});
        add_clients(contenders, setting, "Rocklock, " + kind, {Wanted::own, clients, Speech::http});
        contenders.push_back(embedded.contender(Wanted::own, clients, setting.duration()));
        if (transactions) {
            contenders.push_back(transactions->contender(clients, setting.duration()));
        }
        for (const auto& name : others_of(store)) {
            add_clients(contenders, setting, name, {Wanted::own, clients});
        }
        const bool compares_ways = clients == max_clients;
        if (compares_ways) {
            add_clients(contenders, setting, "Rocklock, " + kind,
                        {Wanted::own, clients, Speech::socket});
        }
        const auto rounds =
            setting.measure(std::to_string(clients), contenders,
                            {{chart, rate_of}, {chart + "-late", one_of_a_hundred_of}}, kind);
        compare_daemon(setting, store, clients, contenders, rounds);
        if (compares_ways) {
            setting.compare(
                {"daemon, " + kind + ", " + std::to_string(clients) + " clients, in shared memory",
                 "pairs/s", contenders.back().name, std::nullopt},
                rounds.front(), rounds.back());
        }
    }
}

}  // namespace

Scenario uncontended() {
    const auto chart = [](const std::string& name, const std::string& kind) {
        return std::vector<Chart>{
            {name, "Uncontended locks, " + kind, "clients", Scale::log,
             "acquire and release, pairs a second", Scale::log, "more"},
            {name + "-late", "Time to acquire, 99th percentile, " + kind, "clients", Scale::log,
             "microseconds from asking to holding", Scale::log, "less"}};
    };
    Scenario scenario{"uncontended",
                      "Uncontended resources",
                      "Each client acquires and releases its own resource repeatedly. This shows "
                      "the cost of a lock without contention. Durable means that a grant is synced "
                      "to disk before the client receives it. Written means that the grant is "
                      "passed to the operating system before the client receives it.",
                      {},
                      [](Setting& setting) {
                          measure(setting, Store::durable, "durable");
                          measure(setting, Store::written, "written");
                          measure(setting, Store::memory, "memory");
                          compare_pairs(setting);
                      }};
    for (const auto& [name, kind] : {std::pair<std::string, std::string>{"durable", "durable"},
                                     {"written", "written to the operating system"},
                                     {"memory", "in memory"}}) {
        for (auto& one : chart(name, kind)) scenario.charts.push_back(std::move(one));
    }
    return scenario;
}

}  // namespace rocklock::bench
