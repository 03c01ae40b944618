// Tables with items in the store of a database.
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/database.hpp>
#include <rocklock/items/table.hpp>
#include <rocklock/testing/faulty_storage.hpp>

#include "database/simulated_database.hpp"
#include "support/temporary_directory.hpp"

namespace rocklock::testing {
namespace {

CreateTable orders() {
    CreateTable request;
    request.table = "orders";
    request.attributes = {{"id", AttributeType::string}};
    request.key = {{"id", KeyType::hash}};
    request.billing = BillingMode::pay_per_request;
    return request;
}

WriteItem put(std::string id) {
    WriteItem request;
    request.table = "orders";
    request.item = Item{{"id", std::move(id)}};
    return request;
}

GetItem get(std::string id) {
    GetItem request;
    request.table = "orders";
    request.key = AttributeMap{{"id", std::move(id)}};
    return request;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(the_tables_of_a_database)

// close() returns although many threads keep writing.
BOOST_AUTO_TEST_CASE(are_closed_under_writes, *boost::unit_test::label("embedded")) {
    Database database = open_test_database().value();
    TableService& tables = *database.tables().value();
    BOOST_TEST_REQUIRE(tables.create_table(orders()).has_value());
    constexpr auto longest = std::chrono::seconds{8};
    const auto start = std::chrono::steady_clock::now();
    std::atomic<int> refused{0};
    std::vector<std::jthread> writers;
    for (int writer = 0; writer < 8; ++writer) {
        writers.emplace_back([&, writer] {
            WriteItem write = put(std::to_string(writer));
            write.item.set("text", std::string(9'000, 'x'));
            while (std::chrono::steady_clock::now() < start + longest) {
                const auto written = tables.write_item(write);
                if (written) continue;
                if (written.error().code == ErrorCode::closing) ++refused;
                return;
            }
        });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{200});
    BOOST_TEST(database.close().has_value());
    const auto took = std::chrono::steady_clock::now() - start;
    writers.clear();
    BOOST_TEST((took < longest / 2));
    BOOST_TEST(refused == 8);
}

BOOST_AUTO_TEST_CASE(are_kept_with_its_locks, *boost::unit_test::label("embedded")) {
    const TemporaryDirectory directory;
    const std::string path = directory.path() / "store";
    {
        Database database = Database::open(path).value();
        TableService& tables = *database.tables().value();
        BOOST_TEST_REQUIRE(tables.create_table(orders()).has_value());
        BOOST_TEST(tables.write_item(put("a")).has_value());
        Session session = database.open_session("ann").value();
        session.acquire("orders/a").value().detach();
        session.detach();
        BOOST_TEST(database.close().has_value());
    }
    Database database = Database::open(path).value();
    BOOST_TEST(database.tables().value()->get_item(get("a")).value().item.has_value());
    BOOST_TEST(database.list().value().locks.size() == 1U);
}

BOOST_AUTO_TEST_CASE(fail_every_call_after_it_is_closed, *boost::unit_test::label("embedded")) {
    Database database = open_test_database().value();
    TableService& tables = *database.tables().value();
    BOOST_TEST_REQUIRE(tables.create_table(orders()).has_value());
    BOOST_TEST(database.close().has_value());
    const auto written = tables.write_item(put("a"));
    BOOST_TEST_REQUIRE(!written);
    BOOST_TEST((written.error().code == ErrorCode::closing));
}

// More items than describe_table() counts within its call.
BOOST_AUTO_TEST_CASE(are_not_counted_again_after_a_close, *boost::unit_test::label("embedded")) {
    constexpr int many = 1'500;
    const TemporaryDirectory directory;
    const std::string path = directory.path() / "store";
    DatabaseOptions options;
    options.durability = Durability::written;
    options.background = false;
    {
        Database database = Database::open(path, options).value();
        TableService& tables = *database.tables().value();
        BOOST_TEST_REQUIRE(tables.create_table(orders()).has_value());
        for (int i = 0; i < many; ++i) {
            BOOST_TEST_REQUIRE(tables.write_item(put(std::to_string(i))).has_value());
        }
        BOOST_TEST_REQUIRE(database.close().has_value());
    }
    Database database = Database::open(path, options).value();
    TableService& tables = *database.tables().value();
    BOOST_TEST(tables.describe_table("orders").value().item_count == many);
    BOOST_TEST(tables.sweep_expired({}).value().examined == 0U);
}

// A write of an item is synced before it is answered (requirement D3).
BOOST_AUTO_TEST_CASE(are_as_durable_as_its_locks, *boost::unit_test::label("embedded")) {
    SimulatedClock clock;
    for (const auto durability : {Durability::durable, Durability::written}) {
        auto storage = std::make_unique<FaultyStorage>(clock);
        FaultyStorage& disk = *storage;
        DatabaseOptions options = simulated(clock);
        options.durability = durability;
        Database database = Database::open_on(std::move(storage), options).value();
        TableService& tables = *database.tables().value();
        BOOST_TEST_REQUIRE(tables.create_table(orders()).has_value());
        BOOST_TEST(tables.write_item(put("a")).has_value());
        // If the write was not synced, it is lost.
        Database after = Database::open_on(disk.reopen_after_power_cut(), simulated(clock)).value();
        const auto item = after.tables().value()->get_item(get("a"));
        const bool kept = item.has_value() && item->item.has_value();
        BOOST_TEST(kept == (durability == Durability::durable));
    }
}

// The background sweep removes the items without a call.
BOOST_AUTO_TEST_CASE(delete_expired_items, *boost::unit_test::label("embedded")) {
    const TemporaryDirectory directory;
    const std::string path = directory.path() / "store";
    {
        Database database = Database::open(path).value();
        TableService& tables = *database.tables().value();
        BOOST_TEST_REQUIRE(tables.create_table(orders()).has_value());
        BOOST_TEST_REQUIRE(tables.update_time_to_live({"orders", "expires", true}).has_value());
        WriteItem request = put("a");
        // A year ago: items that expired more than five years ago are never removed.
        const auto year_ago = std::chrono::duration_cast<std::chrono::seconds>(
            system_clock().now().wall.time_since_epoch() - std::chrono::hours{24 * 365});
        request.item.set("expires", Number(year_ago.count()));
        BOOST_TEST_REQUIRE(tables.write_item(request).has_value());
        BOOST_TEST_REQUIRE(database.close().has_value());
    }
    Database database = Database::open(path).value();
    TableService& tables = *database.tables().value();
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes{1};
    while (tables.get_item(get("a")).value().item) {
        BOOST_TEST_REQUIRE((std::chrono::steady_clock::now() < give_up));
        std::this_thread::yield();
    }
}

BOOST_AUTO_TEST_CASE(are_absent_after_it_was_moved_from, *boost::unit_test::label("embedded")) {
    Database database = open_test_database().value();
    const Database moved = std::move(database);
    Database& empty = database;  // NOLINT(bugprone-use-after-move)
    BOOST_TEST((empty.tables().error().code == ErrorCode::invalid_argument));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
