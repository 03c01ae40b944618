// Calls for items as an SDK for DynamoDB sends them.
#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/table_work.hpp"
#include "scenarios/all.hpp"
#include "scenarios/work.hpp"
#include "table/large_table.hpp"

namespace rocklock::bench {
namespace {

constexpr std::size_t compared_at = 16;
constexpr std::size_t max_table_clients = 64;
constexpr std::size_t page_bytes = 1'000'000;
constexpr int pages_per_round = 50;
constexpr double page_target_ms = 2;

struct Target {
    std::string against;
    double ratio;
};

struct Calls {
    TableWork work;
    std::string name;
    std::string chart;
    std::string ours;
    std::vector<Target> others;
};

const std::vector<Calls>& all_calls() {
    static const std::vector<Calls> all = {
        {TableWork::get,
         "GetItem",
         "get",
         "Rocklock, in memory",
         {{"dynalite, in memory", 6}, {"DynamoDB Local, in memory", 6}}},
        {TableWork::put,
         "PutItem",
         "put",
         "Rocklock, written",
         {{"dynalite, in memory", 6}, {"DynamoDB Local, in memory", 15}}},
        {TableWork::batch,
         "BatchWriteItem of 25",
         "batch",
         "Rocklock, written",
         {{"dynalite, in memory", 4}, {"DynamoDB Local, in memory", 5}}},
        // Dynalite has no transactions.
        {TableWork::transaction,
         "TransactWriteItems of 25",
         "transaction",
         "Rocklock, written",
         {{"DynamoDB Local, in memory", 15}}},
        {TableWork::pair,
         "conditional put and delete",
         "pair",
         "Rocklock, durable",
         {{"dynalite, LevelDB", 6}, {"DynamoDB Local, on file", 40}}}};
    return all;
}

Connect connection_of(const Server& server) {
    return [&server] { return server.connect_soon(Way::port); };
}

// Starts servers, fills their tables and warms them up: some servers compile code that runs often.
class TableServers {
public:
    explicit TableServers(Setting& setting) : setting_(setting) {}

    const Server* find(const std::string& name, TableWork work) {
        const Server* const server = setting_.server(name);
        // Without Rocklock there is no comparison; other servers are optional.
        if (server == nullptr && name.starts_with("Rocklock")) {
            give_up("measure", name + " cannot be started");
        }
        if (server == nullptr) return nullptr;
        const auto connect = connection_of(*server);
        // `pair` creates and deletes its own items, so it needs no items in the table.
        const std::size_t filled =
            work == TableWork::pair ? 1 : setting_.few(max_table_clients, compared_at);
        if (filled_.insert(name).second) fill_table(connect, filled);
        if (warm_.emplace(name, work).second) {
            const auto time = setting_.few(std::chrono::milliseconds{3000}, setting_.duration());
            measure_table(connect, work, compared_at, 1, time);
        }
        return server;
    }

private:
    Setting& setting_;
    std::set<std::string> filled_;
    std::set<std::pair<std::string, TableWork>> warm_;
};

void add(std::vector<Contender>& contenders, const Server* server, TableWork work,
         std::size_t clients, std::chrono::milliseconds duration) {
    if (server == nullptr) return;
    const auto round = [=] {
        const double used = processor_seconds();
        const auto run = measure_table(connection_of(*server), work, clients, 1, duration);
        Sample sample;
        sample.seconds = run.seconds;
        sample.done = {static_cast<std::uint64_t>(run.pieces)};
        sample.processor_seconds = processor_seconds() - used;
        return sample;
    };
    contenders.push_back({server->name(), round, server});
}

void measure(Setting& setting, TableServers& servers, const Calls& calls) {
    for (const std::size_t clients : setting.some<std::size_t>({1, 16, 64})) {
        std::vector<Contender> contenders;
        add(contenders, servers.find(calls.ours, calls.work), calls.work, clients,
            setting.duration());
        for (const auto& [against, ratio] : calls.others) {
            add(contenders, servers.find(against, calls.work), calls.work, clients,
                setting.duration());
        }
        const auto rounds = setting.measure(
            std::to_string(clients), contenders,
            {{calls.chart, rate_of}, {calls.chart + "-processor", thrift_of_server}}, calls.name);
        if (clients != compared_at) continue;
        for (std::size_t i = 1; i < contenders.size(); ++i) {
            for (const auto& [against, ratio] : calls.others) {
                if (contenders[i].name != against) continue;
                setting.compare(
                    {calls.name + ", 16 clients, " + calls.ours.substr(calls.ours.find(", ") + 2),
                     calls.work == TableWork::pair ? "pairs/s" : "calls/s", against, ratio},
                    rounds[0], rounds[i]);
            }
        }
    }
}

// Queries of an embedded store that return 1 MB, the maximum size of a page.
void measure_pages(Setting& setting) {
    for (const std::size_t item_bytes : {std::size_t{200}, std::size_t{1000}}) {
        Database database = setting.open(Store::written);
        TableService& tables = *must(database.tables(), "open the tables");
        fill(tables, "orders", orders_per_customer, item_bytes);
        const std::size_t items = page_bytes / item_bytes;
        // A page begins at one of these items, so that at least `page_bytes` follow.
        const std::size_t first_items = orders_per_customer - items - 100;
        std::size_t next = 0;
        const auto read = [&] {
            constexpr std::size_t prime = 7919;
            const auto page =
                page_from(tables, "orders", next++ * prime % first_items, std::nullopt);
            if (page.count < items) give_up("query", "the page is too short");
        };
        for (int i = 0; i < pages_per_round; ++i) read();
        std::vector<double> times;
        for (std::size_t round = 0; round < setting.rounds(); ++round) {
            const auto start = std::chrono::steady_clock::now();
            for (int i = 0; i < pages_per_round; ++i) read();
            times.push_back(1000 * seconds_since(start) / pages_per_round);
        }
        setting.report(
            {"Query page of 1 MB, embedded, items of " + std::to_string(item_bytes) + " bytes",
             "ms", page_target_ms, true},
            std::move(times));
    }
    setting.progress("pages");
}

}  // namespace

Scenario items() {
    Scenario scenario{
        "items",
        "Calls for items through DynamoDB's API",
        "HTTP clients, each with its own connection, send the next call as soon as the previous "
        "one is answered. To lock with an item, a client sends a PutItem with the condition that "
        "the item does not exist. To unlock, it sends a DeleteItem with the condition that the "
        "client is the holder. Rocklock syncs the writes of these locks to disk. The two other "
        "servers, dynalite and DynamoDB Local, are made for testing and do not sync their writes. "
        "The rows \"Query page of 1 MB\" measure the embedded library.",
        {},
        [](Setting& setting) {
            TableServers servers(setting);
            for (const Calls& calls : all_calls()) measure(setting, servers, calls);
            measure_pages(setting);
        }};
    const auto add_charts = [&](const std::string& name, const std::string& title,
                                const std::string& what) {
        scenario.charts.push_back(
            {name, title, "clients", Scale::log, what + " a second", Scale::log, "more"});
        scenario.charts.push_back({name + "-processor", title + ": processor time of the server",
                                   "clients", Scale::log, "microseconds of processor time",
                                   Scale::log, "less"});
    };
    add_charts("get", "GetItem of an existing item", "calls");
    add_charts("put", "PutItem that replaces an item", "calls");
    add_charts("batch", "BatchWriteItem that replaces 25 items", "calls");
    add_charts("transaction", "TransactWriteItems that replaces 25 items", "calls");
    add_charts("pair", "A lock made of an item: conditional put and delete", "pairs");
    return scenario;
}

}  // namespace rocklock::bench
