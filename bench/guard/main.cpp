// bench_guard: what guards cost: a write that shows a lock beside one that shows nothing, and a
// plain read of a table that is bound to resources beside one of a table that is not.
//
//     bench_guard [--quick] [--json] [--rounds N] [--seconds S] [--directory DIR] [--only WORD]
//
// docs/performance.md says what the rows mean and holds the last results.
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <rocklock/database.hpp>

#include "measure.hpp"
#include "report.hpp"
#include "support.hpp"

namespace rocklock::bench {
namespace {

constexpr std::size_t items_of_a_thread = 64;
constexpr std::size_t items_of_a_set = 16;
// Ratios of rates: a guarded write costs at most 1.3 times the other, a read of a bound table 1.2.
constexpr double write_target = 1 / 1.3;
constexpr double read_target = 1 / 1.2;
const std::string bound = "orders";
const std::string unbound = "notes";

AttributeMap key_of(std::size_t thread, std::size_t item) {
    AttributeMap key;
    key.set("customer", "customer#" + std::to_string(thread));
    key.set("order", "order#" + std::to_string(item));
    return key;
}

std::string resource_of(std::size_t thread, std::size_t item) {
    return "orders/customer#" + std::to_string(thread) + "/order#" + std::to_string(item);
}

void create(TableService& tables, const std::string& name) {
    CreateTable request;
    request.table = name;
    request.attributes = {{"customer", AttributeType::string}, {"order", AttributeType::string}};
    request.key = {{"customer", KeyType::hash}, {"order", KeyType::range}};
    request.billing = BillingMode::pay_per_request;
    must(tables.create_table(request), "create the table");
}

WriteItem put_of(const std::string& table, std::size_t thread, std::size_t item) {
    constexpr std::size_t text_bytes = 130;
    WriteItem put;
    put.table = table;
    put.item = key_of(thread, item);
    put.item.set("total", *Number::parse("4711.95"));
    put.item.set("text", std::string(text_bytes, 'x'));
    return put;
}

// What a thread has: a session, the locks of all its items in the bound table, the versions of
// those in the other, and which item is next.
struct Place {
    Session session;
    std::vector<Guard> guards;
    std::vector<std::uint64_t> versions;
    std::size_t count = 0;

    std::size_t next() { return count++ % items_of_a_thread; }
};

// A store with the same items in a bound and in an unbound table.
class Tables {
public:
    Tables(const std::string& folder, Durability durability, std::size_t threads)
        : database_(open(folder, durability)),
          tables_(*must(database_.tables(), "open the tables")) {
        create(tables_, bound);
        create(tables_, unbound);
        must(database_.bind_table({bound, "orders/{customer}/{order}"}), "bind the table");
        for (std::size_t thread = 0; thread < threads; ++thread) add_place(thread);
    }

    void put(std::size_t thread) { put(thread, places_[thread].next()); }
    void put_guarded(std::size_t thread) { put_guarded(thread, places_[thread].next()); }
    void put(std::size_t thread, std::size_t item) {
        const auto written = must(tables_.write_item(put_of(unbound, thread, item)), "put");
        places_[thread].versions[item] = written.version;
    }
    void put_guarded(std::size_t thread, std::size_t item) {
        auto request = put_of(bound, thread, item);
        request.proof = places_[thread].guards[item].proof();
        must(tables_.write_item(request), "put with a guard");
    }
    void put_on_version(std::size_t thread) {
        auto& place = places_[thread];
        const std::size_t item = place.next();
        auto& version = place.versions[item];
        auto request = put_of(unbound, thread, item);
        request.expected_version = version;
        version = must(tables_.write_item(request), "put on a version").version;
    }
    void transact(std::size_t thread, bool guarded) {
        TransactWrite request;
        for (std::size_t i = 0; i < items_of_a_set; ++i) {
            const std::size_t item = places_[thread].next();
            request.actions.push_back(put_of(guarded ? bound : unbound, thread, item));
            if (guarded) request.actions.back().proof = places_[thread].guards[item].proof();
        }
        must(tables_.transact_write(request), "write together");
    }
    void get(const std::string& table, std::size_t thread) {
        GetItem request;
        request.table = table;
        request.key = key_of(thread, places_[thread].next());
        if (!must(tables_.get_item(request), "get").item) give_up("get", "there is no item");
    }
    // All of a thread's items.
    void query(const std::string& table, std::size_t thread) {
        Query request;
        request.table = table;
        request.expressions.key_condition = "customer = :customer";
        request.expressions.placeholders.values = {
            {{":customer", "customer#" + std::to_string(thread)}}};
        const auto page = must(tables_.query(request), "query");
        if (page.count < items_of_a_thread) give_up("query", "items are missing");
    }

private:
    static Database open(const std::string& folder, Durability durability) {
        DatabaseOptions options;
        options.durability = durability;
        return must(folder.empty() ? Database::in_memory(options) : Database::open(folder, options),
                    "open the store");
    }
    void add_place(std::size_t thread) {
        Place place{
            must(database_.open_session("clerk-" + std::to_string(thread)), "open a session"),
            {},
            std::vector<std::uint64_t>(items_of_a_thread)};
        for (std::size_t item = 0; item < items_of_a_thread; ++item) {
            place.guards.push_back(
                must(place.session.acquire(resource_of(thread, item)), "acquire"));
        }
        places_.push_back(std::move(place));
        for (std::size_t item = 0; item < items_of_a_thread; ++item) {
            put_guarded(thread, item);
            put(thread, item);
        }
    }

    Database database_;
    TableService& tables_;
    std::vector<Place> places_;
};

class Bench {
public:
    explicit Bench(const CommonOptions& options) : options_(options), report_(options) {}

    void run();

private:
    using Once = std::function<void(Tables& tables, std::size_t thread)>;
    // What is done, and what that is compared with.
    struct Pair {
        std::string name;
        Once once;
        std::string against;
        Once other;
        double target = 0;
    };

    // Both in the same store, in turn.
    void row(const Pair& pair, Durability durability, std::size_t threads);
    void write_rows(Durability durability, std::size_t threads);
    void read_rows(std::size_t threads);

    const CommonOptions options_;
    Report report_;
};

void Bench::row(const Pair& pair, Durability durability, std::size_t threads) {
    Row row;
    row.name = pair.name + (durability == Durability::durable ? ", durable, " : ", written, ") +
               std::to_string(threads) + (threads == 1 ? " thread" : " threads");
    if (!report_.wanted(row.name)) return;
    row.unit = "calls/s";
    row.against = pair.against;
    row.target = pair.target;
    const Folder folder(options_.directory);
    Tables tables(folder.path(), durability, threads);
    const auto measure = [&](const Once& once) {
        return rate(threads, options_.duration, [&](std::size_t thread) { once(tables, thread); });
    };
    report_.add(compare(
        std::move(row), options_.rounds, [&] { return measure(pair.once); },
        [&] { return measure(pair.other); }));
}

void Bench::write_rows(Durability durability, std::size_t threads) {
    const Once put = [](Tables& tables, std::size_t thread) { tables.put(thread); };
    const std::vector<Pair> pairs = {
        {"put that shows a lock",
         [](Tables& tables, std::size_t thread) { tables.put_guarded(thread); },
         "put that shows nothing", put, write_target},
        {"put on a version",
         [](Tables& tables, std::size_t thread) { tables.put_on_version(thread); },
         "put that shows nothing", put, write_target},
        {"16 puts together that show locks",
         [](Tables& tables, std::size_t thread) { tables.transact(thread, true); },
         "that show nothing",
         [](Tables& tables, std::size_t thread) { tables.transact(thread, false); }, write_target}};
    for (const Pair& pair : pairs) row(pair, durability, threads);
}

void Bench::read_rows(std::size_t threads) {
    const std::vector<Pair> pairs = {
        {"get from a bound table",
         [](Tables& tables, std::size_t thread) { tables.get(bound, thread); },
         "from one that is not",
         [](Tables& tables, std::size_t thread) { tables.get(unbound, thread); }, read_target},
        {"query of 64 items of a bound table",
         [](Tables& tables, std::size_t thread) { tables.query(bound, thread); },
         "of one that is not",
         [](Tables& tables, std::size_t thread) { tables.query(unbound, thread); }, read_target}};
    for (const Pair& pair : pairs) row(pair, Durability::written, threads);
}

void Bench::run() {
    for (const auto durability : {Durability::written, Durability::durable}) {
        for (const std::size_t threads : {1, 16}) write_rows(durability, threads);
    }
    for (const std::size_t threads : {1, 4}) read_rows(threads);
    report_.finish();
}

}  // namespace
}  // namespace rocklock::bench

int main(int argc, char** argv) {
    using namespace rocklock::bench;
    Bench(read_arguments(argc, argv)).run();
    return 0;
}
