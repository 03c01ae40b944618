// Reads the lock table and the data together while both change.
#include <atomic>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <boost/test/unit_test.hpp>

#include <rocklock/database.hpp>
#include <rocklock/items/table.hpp>

#include "database/orders.hpp"
#include "database/simulated_database.hpp"

namespace rocklock::testing {
namespace {

WriteItem owned_by(GrantId grant, std::optional<LockProof> proof) {
    WriteItem write;
    write.table = "orders";
    write.item = Item{{"id", "1"}, {"owner", AttributeValue(Number(number(grant)))}};
    write.proof = proof;
    return write;
}

GetItem item_of_order() {
    GetItem item;
    item.table = "orders";
    item.key = AttributeMap{{"id", "1"}};
    return item;
}

AttributeValue owner_in(const Item& item) { return *item.find("owner"); }

std::string text_of_owner(TableService& tables) {
    const Item item = tables.get_item(item_of_order()).value().item.value();
    return owner_in(item).get_if<Number>()->to_string();
}

// Repeatedly acquires the lock, writes the number of the grant into the item, and releases the
// lock.
void own(Database& database, const std::string& principal, const std::atomic<bool>& over) {
    TableService& tables = *database.tables().value();
    Session session = database.open_session(principal).value();
    AcquireOptions options;
    options.patience = 10s;
    while (!over) {
        auto guard = session.acquire("orders/1", options);
        if (!guard) continue;
        const auto written = tables.write_item(owned_by(guard->id(), guard->proof()));
        if (!written) std::abort();
        // Gives the other thread time to read.
        for (int i = 0; i < 20; ++i) {
            if (text_of_owner(tables) != std::to_string(number(guard->id()))) std::abort();
        }
        if (!guard->release()) std::abort();
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(the_lock_table_and_the_data, *boost::unit_test::label("embedded"))

// While a grant is in the table of locks, no other session can have written the item.
BOOST_AUTO_TEST_CASE(are_of_one_moment_in_a_transaction) {
    DatabaseOptions how;
    how.durability = Durability::written;
    Database database = open_test_database(std::move(how)).value();
    TableService& tables = *database.tables().value();
    create_orders(tables);
    BOOST_TEST_REQUIRE(tables.write_item(owned_by(GrantId{1}, {})).has_value());
    bind_orders(tables);
    std::atomic<bool> over{false};
    std::jthread ann([&] { own(database, "ann", over); });
    std::jthread bob([&] { own(database, "bob", over); });
    const GetItem item = item_of_order();
    GetItem lock;
    lock.table = "rocklock.locks";
    int held = 0;
    int wrong = 0;
    // Reads until the grant was found often enough.
    for (int round = 0; held < 500 && round < 3'000'000; ++round) {
        const Item found = tables.get_item(item).value().item.value();
        const AttributeValue owner = owner_in(found);
        lock.key = AttributeMap{{"Resource", "orders/1"}, {"Grant", owner}};
        TransactGet both;
        both.gets = {lock, item};
        const auto answer = tables.transact_get(both).value();
        if (!answer.items[0]) continue;
        ++held;
        if (owner_in(*answer.items[1]) != owner) ++wrong;
    }
    over = true;
    BOOST_TEST(wrong == 0);
    BOOST_TEST(held == 500);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
