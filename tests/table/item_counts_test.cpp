// The numbers of items and bytes in table descriptions, compared with a model of the items.
#include <map>
#include <random>
#include <string>

#include <boost/test/unit_test.hpp>

#include <rocklock/testing/faulty_storage.hpp>

#include "table/make.hpp"

namespace rocklock::proof {

namespace {

struct Counts {
    std::uint64_t items = 0;
    std::uint64_t bytes = 0;
    std::uint64_t entries = 0;
    std::uint64_t entry_bytes = 0;

    friend bool operator==(const Counts&, const Counts&) = default;
    friend std::ostream& operator<<(std::ostream& out, const Counts& counts) {
        return out << counts.items << " items of " << counts.bytes << ", " << counts.entries
                   << " entries of " << counts.entry_bytes;
    }
};

Counts counts_of(TableService& service) {
    const auto table = service.describe_table("orders").value();
    const auto& index = table.global_indexes.at(0);
    return {table.item_count, table.size_bytes, index.entry_count, index.size_bytes};
}

// The index contains keys only.
CreateTable orders() {
    auto wanted = table_of("orders", "pk S");
    add_index(wanted, "gidx", "g S");
    wanted.global_indexes->back().projection = IndexProjection{ProjectionType::keys_only, {}};
    return wanted;
}

using Model = std::map<std::string, Item>;

Counts figures_of(const Model& model) {
    Counts count_changes;
    for (const auto& [key, item] : model) {
        ++count_changes.items;
        count_changes.bytes += size_bytes(item);
        const auto* indexed = item.find("g");
        if (!indexed) continue;
        ++count_changes.entries;
        count_changes.entry_bytes += size_bytes(Item{{"pk", key}, {"g", *indexed}});
    }
    return count_changes;
}

// Applies random writes of all kinds to a service and to a model of it.
class Writer {
public:
    Writer(TableService& service, Model& model, std::uint32_t seed)
        : service_(service), model_(model), random_(seed) {}

    void write() {
        switch (random_() % 5) {
            case 0:
                return write_alone();
            case 1:
                return write_batch();
            case 2:
                return write_transaction();
            case 3:
                return update_one();
            default:
                return refuse_one();
        }
    }

private:
    std::string key() { return std::to_string(random_() % 20); }
    Item item(const std::string& key) {
        Item item{{"pk", key}, {"v", std::string(random_() % 50, 'x')}};
        if (random_() % 2 == 0) item.set("g", std::string(1 + random_() % 3, 'g'));
        return item;
    }
    WriteItem next(const std::string& key) {
        if (random_() % 3 == 0) return proof::remove("orders", {{"pk", key}});
        return put("orders", item(key));
    }
    void remember(const WriteItem& write) {
        const std::string key = *write.item.find("pk")->get_if<std::string>();
        if (write.kind == WriteItem::Kind::remove) model_.erase(key);
        if (write.kind == WriteItem::Kind::put) model_[key] = write.item;
    }
    std::vector<WriteItem> several() {
        std::map<std::string, WriteItem> writes;
        for (int i = 0; i < 4; ++i) {
            const std::string chosen = key();
            writes.emplace(chosen, next(chosen));
        }
        std::vector<WriteItem> list;
        for (const auto& [chosen, write] : writes) list.push_back(write);
        return list;
    }
    void write_alone() {
        const auto write = next(key());
        service_.write_item(write).value();
        remember(write);
    }
    void write_batch() {
        BatchWrite batch;
        batch.writes = several();
        service_.batch_write(batch).value();
        for (const auto& write : batch.writes) remember(write);
    }
    // Some transactions fail, without an effect. A transaction that is repeated with its token is
    // applied once.
    void write_transaction() {
        TransactWrite transaction;
        transaction.actions = several();
        if (random_() % 3 == 0) {
            transaction.actions.push_back(
                provided(put("orders", {{"pk", "other"}}), "attribute_exists(pk)"));
            BOOST_TEST(!service_.transact_write(transaction));
            return;
        }
        transaction.token = "token " + std::to_string(random_());
        service_.transact_write(transaction).value();
        service_.transact_write(transaction).value();
        for (const auto& write : transaction.actions) remember(write);
    }
    void update_one() {
        const std::string chosen = key();
        service_
            .write_item(update("orders", {{"pk", chosen}}, "SET v = :v, g = :g",
                               {{":v", "updated"}, {":g", "gg"}}))
            .value();
        Item& item = model_[chosen];
        item.set("pk", chosen);
        item.set("v", "updated");
        item.set("g", "gg");
    }
    void refuse_one() {
        const auto refused = provided(put("orders", {{"pk", key()}, {"v", "longer than before"}}),
                                      "v = :never", {{":never", "never"}});
        BOOST_TEST(!service_.write_item(refused));
    }

    TableService& service_;
    Model& model_;
    std::mt19937 random_;
};

// Too many items for a description to count them itself.
constexpr int many = 1'100;

void write_many(TableService& service, Model& model) {
    for (int i = 0; i < many; ++i) {
        const std::string key = "many " + std::to_string(i);
        Item item{{"pk", key}, {"g", "x"}};
        service.write_item(put("orders", item)).value();
        model[key] = item;
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(table)
BOOST_AUTO_TEST_SUITE(item_counts_of_a_table)

BOOST_FIXTURE_TEST_CASE(are_correct_after_any_write, Tables) {
    service->create_table(orders()).value();
    BOOST_TEST(counts_of(*service) == Counts());
    Model model;
    for (std::uint32_t round = 1; round <= 4; ++round) {
        Writer writer(*service, model, round);
        for (int i = 0; i < 200; ++i) {
            writer.write();
            BOOST_TEST_REQUIRE(counts_of(*service) == figures_of(model));
        }
        reopen();
        BOOST_TEST(counts_of(*service) == figures_of(model));
    }
    service->delete_table("orders").value();
    service->create_table(orders()).value();
    BOOST_TEST(counts_of(*service) == Counts());
}

BOOST_FIXTURE_TEST_CASE(are_correct_for_an_index_that_was_created_later, Tables) {
    service->create_table(table_of("orders", "pk S")).value();
    Model model;
    for (int i = 0; i < 10; ++i) {
        const std::string key = std::to_string(i);
        model[key] = {{"pk", key}, {"v", "x"}};
        if (i % 2 == 0) model[key].set("g", "x");
        service->write_item(put("orders", model[key])).value();
    }
    UpdateTable change;
    change.table = "orders";
    change.attributes = orders().attributes;
    change.global_index_updates.emplace().push_back({orders().global_indexes->at(0), {}, {}});
    const auto answer = service->update_table(change).value();
    BOOST_TEST(answer.global_indexes.at(0).entry_count == 5U);
    BOOST_TEST(counts_of(*service) == figures_of(model));
}

BOOST_FIXTURE_TEST_CASE(are_right_when_many_have_written_at_a_time, Tables) {
    service->create_table(orders()).value();
    in_threads(8, [&](int thread) {
        for (int i = 0; i < 50; ++i) {
            const std::string key = std::to_string((thread + i) % 20);
            if (i % 5 == 4) {
                service->write_item(proof::remove("orders", {{"pk", key}})).value();
            } else {
                service->write_item(put("orders", {{"pk", key}, {"g", std::string(1 + i, 'g')}}))
                    .value();
            }
        }
    });
    Model model;
    Scan scan;
    scan.table = "orders";
    const Page page = service->scan(scan).value();
    for (const Item& item : page.items) {
        model[*item.find("pk")->get_if<std::string>()] = item;
    }
    BOOST_TEST(counts_of(*service) == figures_of(model));
}

// The counts were lost with the process. A description counts a small table itself; a sweep counts
// any table.
BOOST_AUTO_TEST_CASE(are_counted_after_a_crash) {
    testing::SimulatedClock clock;
    testing::FaultyStorage storage(clock);
    Model model;
    {
        const auto service = open_tables(storage, clock).value();
        service->create_table(orders()).value();
        service->write_item(put("orders", {{"pk", "first"}})).value();
        model["first"] = {{"pk", "first"}};
    }
    const Counts before = figures_of(model);
    const auto crashed = open_tables(storage, clock).value();
    write_many(*crashed, model);
    const auto after = storage.reopen_after_kill();
    auto service = open_tables(*after, clock).value();
    BOOST_TEST(counts_of(*service) == before);
    std::size_t examined = 0;
    while (true) {
        // Writes continue during the sweep.
        service->write_item(put("orders", {{"pk", "many 7"}, {"v", std::to_string(examined)}}))
            .value();
        model["many 7"] = {{"pk", "many 7"}, {"v", std::to_string(examined)}};
        const auto report = service->sweep_expired({100, {}}).value();
        BOOST_TEST(report.examined <= 100U);
        examined += report.examined;
        if (report.next.count() > 0) break;
    }
    BOOST_TEST(counts_of(*service) == figures_of(model));
    // The counts are stored when the service is closed.
    service.reset();
    service = open_tables(*after, clock).value();
    BOOST_TEST(counts_of(*service) == figures_of(model));
    BOOST_TEST(service->sweep_expired({}).value().examined == 0U);
}

BOOST_AUTO_TEST_CASE(are_counted_by_a_description_of_a_small_table) {
    testing::SimulatedClock clock;
    testing::FaultyStorage storage(clock);
    const auto crashed = open_tables(storage, clock).value();
    crashed->create_table(orders()).value();
    crashed->write_item(put("orders", {{"pk", "a"}, {"g", "x"}})).value();
    const auto after = storage.reopen_after_kill();
    const auto service = open_tables(*after, clock).value();
    BOOST_TEST(counts_of(*service) == figures_of({{"a", {{"pk", "a"}, {"g", "x"}}}}));
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::proof
