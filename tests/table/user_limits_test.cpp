// The limit on the total size of the tables that one user has created.
#include <optional>
#include <string>

#include <boost/test/unit_test.hpp>

#include "table/make.hpp"

namespace rocklock::proof {
namespace {

constexpr std::uint32_t ann = 1000;
constexpr std::uint32_t bob = 1001;

struct LimitedTables : Tables {
    explicit LimitedTables(std::uint64_t table_bytes) {
        options.user_limits.table_bytes = table_bytes;
        open();
    }
    void open() {
        service.reset();
        service = open_tables(*storage, clock, options).value();
    }
    void create(const std::string& name, std::optional<std::uint32_t> user) const {
        auto table = table_of(name, "pk S");
        add_index(table, "gidx", "g S");
        table.user = user;
        BOOST_REQUIRE(service->create_table(table).has_value());
    }
    std::string put_bytes(const std::string& table, const std::string& key,
                          std::size_t bytes) const {
        return error_of(
            service->write_item(put(table, {{"pk", key}, {"v", std::string(bytes, 'x')}})));
    }
    std::uint64_t bytes_of(std::uint32_t user) const {
        for (const auto& usage : service->user_usage()) {
            if (usage.uid == user) return usage.table_bytes;
        }
        return 0;
    }

    TableOptions options;
};

const std::string refused = "limit_exceeded: user 1000 has ";

}  // namespace

BOOST_AUTO_TEST_SUITE(table)
BOOST_AUTO_TEST_SUITE(the_tables_of_a_user)

BOOST_AUTO_TEST_CASE(hold_at_most_its_bytes) {
    LimitedTables tables(100'000);
    tables.create("one", ann);
    tables.create("two", ann);
    tables.create("other", bob);
    tables.create("nobodys", std::nullopt);
    BOOST_TEST(tables.put_bytes("one", "a", 60'000) == "");
    const auto over = tables.put_bytes("two", "b", 60'000);
    BOOST_TEST(over.starts_with(refused), over);
    BOOST_TEST(over.find("max-user-table-bytes") != std::string::npos);
    BOOST_TEST(tables.put_bytes("other", "b", 60'000) == "");
    BOOST_TEST(tables.put_bytes("nobodys", "a", 90'000) == "");
    BOOST_TEST(tables.put_bytes("nobodys", "b", 90'000) == "");
    // A write that does not make the table larger succeeds even at the limit.
    BOOST_TEST(tables.put_bytes("one", "a", 59'000) == "");
    BOOST_TEST(error_of(tables.service->write_item(remove("one", {{"pk", "a"}}))) == "");
    BOOST_TEST(tables.put_bytes("two", "b", 60'000) == "");
}

BOOST_AUTO_TEST_CASE(hold_at_most_its_bytes_in_batches_transactions_and_begun_writes) {
    LimitedTables tables(20'000);
    tables.create("one", ann);
    const auto large = put("one", {{"pk", "a"}, {"v", std::string(30'000, 'x')}});
    BatchWrite batch;
    batch.writes = {large};
    BOOST_TEST(error_of(tables.service->batch_write(batch)).starts_with(refused));
    TransactWrite transaction;
    transaction.actions = {large};
    BOOST_TEST(error_of(tables.service->transact_write(transaction)).starts_with(refused));
    if (const auto pending = tables.service->begin_write(large)) {
        const auto answer = pending->finish();
        BOOST_REQUIRE(answer.has_value());
        BOOST_TEST(error_of(*answer).starts_with(refused));
    }
    BOOST_TEST(tables.rows(Family::items) == 0U);
}

BOOST_AUTO_TEST_CASE(count_their_indexes_and_definitions) {
    LimitedTables tables(1'000'000);
    tables.create("one", ann);
    const auto definition = tables.bytes_of(ann);
    BOOST_TEST(definition > 2'000U);
    const auto both = put("one", {{"pk", "a"}, {"g", "x"}, {"v", std::string(1'000, 'x')}});
    BOOST_REQUIRE(tables.service->write_item(both).has_value());
    BOOST_TEST(tables.bytes_of(ann) > definition + 2'000);
    UpdateTable update;
    update.table = "one";
    update.global_index_updates = {{{{}, {}, "gidx"}}};
    BOOST_REQUIRE(tables.service->update_table(update).has_value());
    BOOST_TEST(tables.bytes_of(ann) < definition + 2'000);
    BOOST_TEST(tables.bytes_of(ann) > definition + 500);
}

BOOST_AUTO_TEST_CASE(are_counted_after_a_restart_and_not_after_their_end) {
    LimitedTables tables(100'000);
    tables.create("one", ann);
    BOOST_TEST(tables.put_bytes("one", "a", 60'000) == "");
    const auto before = tables.bytes_of(ann);
    tables.open();
    BOOST_TEST(tables.bytes_of(ann) == before);
    BOOST_TEST(tables.put_bytes("one", "b", 60'000).starts_with(refused));
    BOOST_REQUIRE(tables.service->delete_table("one").has_value());
    BOOST_TEST(tables.bytes_of(ann) == 0U);
    tables.create("one", ann);
    BOOST_TEST(tables.put_bytes("one", "b", 60'000) == "");
}

BOOST_AUTO_TEST_CASE(are_as_many_as_their_definitions_fit) {
    LimitedTables tables(20'000);
    int created = 0;
    while (created < 100) {
        auto table = table_of("table" + std::to_string(created), "pk S");
        table.user = ann;
        const auto made = tables.service->create_table(table);
        if (!made) {
            BOOST_TEST(error_of(made).starts_with(refused));
            break;
        }
        ++created;
    }
    BOOST_TEST(created > 2);
    BOOST_TEST(created < 10);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::proof
