// Compiles and runs the examples of docs/patterns/.
#include <chrono>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/database.hpp>
#include <rocklock/items/change_set.hpp>
#include <rocklock/testing/simulated_clock.hpp>

namespace {

using rocklock::AttributeMap;
using rocklock::Item;

// A store with orders and their lines.
struct Shop {
    rocklock::testing::SimulatedClock clock;
    rocklock::Database database;
    rocklock::TableService& tables;
    AttributeMap order{{"Id", "42"}};
    std::vector<std::string> messages;

    Shop() : database(opened(clock)), tables(*database.tables().value()) {
        //! [create_table]
        rocklock::CreateTable orders;
        orders.table = "orders";
        orders.attributes = {{"Id", rocklock::AttributeType::string}};
        orders.key = {{"Id", rocklock::KeyType::hash}};
        orders.billing = rocklock::BillingMode::pay_per_request;
        tables.create_table(orders).value();
        //! [create_table]
        rocklock::CreateTable lines = orders;
        lines.table = "lines";
        lines.attributes = {{"OrderId", rocklock::AttributeType::string},
                            {"Line", rocklock::AttributeType::number}};
        lines.key = {{"OrderId", rocklock::KeyType::hash}, {"Line", rocklock::KeyType::range}};
        tables.create_table(lines).value();
        save("to come");
    }

    static rocklock::Database opened(rocklock::Clock& clock) {
        rocklock::DatabaseOptions options;
        options.clock = &clock;
        options.background = false;
        return rocklock::Database::in_memory(options).value();
    }
    void save(const std::string& text) {
        rocklock::WriteItem write;
        write.table = "orders";
        write.item = order;
        write.item.set("Text", text);
        tables.write_item(write).value();
    }
    std::string text() {
        rocklock::GetItem get;
        get.table = "orders";
        get.key = order;
        return *tables.get_item(get).value().item->find("Text")->get_if<std::string>();
    }
    static AttributeMap line(int number) {
        return {{"OrderId", "42"}, {"Line", rocklock::AttributeValue(rocklock::Number(number))}};
    }
    void show(const std::string& text) { messages.push_back(text); }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(a_pattern, *boost::unit_test::label("memory"))

BOOST_FIXTURE_TEST_CASE(is_an_optimistic_lock, Shop) {
    //! [optimistic]
    rocklock::ChangeSet changes(tables, "ann");
    auto item = changes.get("orders", order).value();  // remembers the version

    // Ann edits for ten minutes without a lock.

    item->set("Text", "two boxes of nails");
    changes.put("orders", *item).value();
    auto saved = changes.commit();  // saves all changes of the set, or none
    //! [optimistic]
    BOOST_TEST(saved.has_value());
    BOOST_TEST(text() == "two boxes of nails");

    changes.get("orders", order).value();
    rocklock::ChangeSet others(tables, "bob");
    others.put("orders", {{"Id", "42"}, {"Text", "screws"}}).value();
    others.commit().value();
    changes.put("orders", {{"Id", "42"}, {"Text", "nails"}}).value();
    //! [changed]
    saved = changes.commit();
    if (!saved && saved.error().code == rocklock::ErrorCode::condition_failed) {
        for (const rocklock::ItemChange& change : saved.error().changes) {
            const auto& last = change.last_write;
            show(change.table + ": " + (change.gone ? "gone" : last ? last->by : "unknown"));
        }
    }
    //! [changed]
    BOOST_TEST_REQUIRE(messages.size() == 1U);
    BOOST_TEST(messages[0] == "orders: bob");
    BOOST_TEST(text() == "screws");
}

BOOST_FIXTURE_TEST_CASE(is_a_pessimistic_lock, Shop) {
    auto session = database.open_session("ann").value();
    //! [pessimistic]
    auto guard = session.acquire("orders/42").value();  // if it fails, the error names the holder
    auto item = tables.get_item({.table = "orders", .key = order}).value().item;

    // Ann edits for ten minutes. Her lease is renewed, and no other session gets the lock.

    rocklock::WriteItem write;
    write.table = "orders";
    write.item = *item;
    write.item.set("Text", "two boxes of nails");
    write.proof = guard.proof();
    auto saved = tables.write_item(write);  // refused if the grant has ended
    //! [pessimistic]
    BOOST_TEST(saved.has_value());

    write.item.set("Text", "too late");
    clock.advance(std::chrono::minutes{1});
    auto bob = database.open_session("bob").value();
    const auto next = bob.acquire("orders/42").value();
    //! [stale]
    saved = tables.write_item(write);  // after a pause that was longer than the lease
    if (!saved && saved.error().code == rocklock::ErrorCode::stale_token) {
        show(saved.error().message);
    }
    //! [stale]
    BOOST_TEST_REQUIRE(messages.size() == 1U);
    BOOST_TEST(messages[0].find("has ended: expired") != std::string::npos);
    BOOST_TEST(text() == "two boxes of nails");
}

BOOST_FIXTURE_TEST_CASE(is_a_pessimistic_lock_released_with_the_save, Shop) {
    auto session = database.open_session("ann").value();
    auto guard = session.acquire("orders/42").value();
    rocklock::WriteItem write;
    write.table = "orders";
    write.item = {{"Id", "42"}, {"Text", "two boxes of nails"}};
    //! [save_and_release]
    rocklock::TransactWrite save;
    save.actions = {write};
    auto saved = guard.save_and_release(tables, save);  // either both are done, or neither
    //! [save_and_release]
    BOOST_TEST(saved.has_value());
    BOOST_TEST(!guard);
    BOOST_TEST(text() == "two boxes of nails");
    BOOST_TEST(database.show("orders/42").value().holders.empty());
}

BOOST_FIXTURE_TEST_CASE(is_a_lock_before_a_load, Shop) {
    auto session = database.open_session("ann").value();
    database.bind_table({"orders", "orders/{Id}", false}).value();
    //! [read_and_lock]
    auto locked = session.acquire_item(tables, {.table = "orders", .key = order}).value();
    rocklock::WriteItem write;
    write.table = "orders";
    write.item = *locked.item;  // includes the save of the last holder
    write.item.set("Text", "two boxes of nails");
    write.proof = locked.guard.proof();
    //! [read_and_lock]
    const auto lost = locked.guard.detach();
    clock.advance(std::chrono::minutes{1});
    session = database.open_session("ann").value();
    //! [reacquire]
    // After the lease has expired, or the lock was stolen.
    auto back = session.reacquire_if_unchanged(tables, lost, {{"orders", order, locked.version}});
    if (back) {
        write.proof = back->proof();  // the item is unchanged: the edit is valid
    } else {
        show(back.error().message);  // names the changes, their authors and the holders since then
    }
    //! [reacquire]
    BOOST_TEST(messages.empty());
    BOOST_TEST(tables.write_item(write).has_value());
    back->release().value();
    auto bob = database.open_session("bob").value();
    auto next = bob.acquire("orders/42").value();
    write.item.set("Text", "screws");
    write.proof = next.proof();
    tables.write_item(write).value();
    next.release().value();
    const auto again =
        session.reacquire_if_unchanged(tables, lost, {{"orders", order, locked.version}});
    BOOST_TEST_REQUIRE(!again.has_value());
    BOOST_TEST(again.error().message ==
               "changed since the lock was lost: an item of orders was written by bob; since then "
               "it was held by bob, ann");
}

BOOST_FIXTURE_TEST_CASE(is_a_coarse_grained_version, Shop) {
    //! [shared_version]
    rocklock::ChangeSet changes(tables, "ann");
    // The version of the order stands for its lines.
    changes.share_version("orders", order).value();
    changes.put("lines", line(1)).value();
    changes.put("lines", line(2)).value();
    auto saved = changes.commit();
    //! [shared_version]
    BOOST_TEST(saved.has_value());

    rocklock::ChangeSet others(tables, "bob");
    others.share_version("orders", order).value();
    others.remove("lines", line(1)).value();
    changes.share_version("orders", order).value();
    changes.put("lines", line(3)).value();
    changes.commit().value();
    const auto late = others.commit();
    BOOST_TEST_REQUIRE(!late);
    BOOST_TEST(late.error().changes.at(0).last_write->by == "ann");
}

BOOST_FIXTURE_TEST_CASE(is_a_coarse_grained_lock, Shop) {
    auto session = database.open_session("ann").value();
    //! [shared_lock]
    tables.bind_table({.table = "orders", .resource = "orders/{Id}"}).value();
    tables.bind_table({.table = "lines", .resource = "orders/{OrderId}"}).value();

    auto guard = session.acquire("orders/42").value();  // locks the order and all its lines
    rocklock::WriteItem write;
    write.table = "lines";
    write.item = line(1);
    write.proof = guard.proof();
    auto saved = tables.write_item(write);
    //! [shared_lock]
    BOOST_TEST(saved.has_value());
    write.item.set("OrderId", "43");
    BOOST_TEST((tables.write_item(write).error().code == rocklock::ErrorCode::lock_required));
}

BOOST_FIXTURE_TEST_CASE(is_a_lock_of_a_subtree, Shop) {
    auto session = database.open_session("ann").value();
    //! [subtree]
    rocklock::LockRequest everything{.resource = "orders", .subtree = true};
    auto guard = session.acquire({everything}).value();  // no order can be locked meanwhile
    //! [subtree]
    auto bob = database.open_session("bob").value();
    BOOST_TEST(!bob.acquire("orders/42"));
}

BOOST_FIXTURE_TEST_CASE(is_an_implicit_lock, Shop) {
    //! [bind]
    tables.bind_table({.table = "orders", .resource = "orders/{Id}"}).value();
    //! [bind]
    rocklock::WriteItem write;
    write.table = "orders";
    write.item = {{"Id", "42"}, {"Text", "forgot to lock"}};
    //! [forgotten]
    auto saved = tables.write_item(write);  // without a lock
    if (!saved && saved.error().code == rocklock::ErrorCode::lock_required) {
        show(saved.error().message);
    }
    //! [forgotten]
    BOOST_TEST_REQUIRE(messages.size() == 1U);
    BOOST_TEST(messages[0].find("orders/42") != std::string::npos);
    BOOST_TEST(text() == "to come");

    auto session = database.open_session("ann").value();
    //! [exclusive]
    rocklock::LockRequest alone{.resource = "orders/42", .mode = rocklock::Mode::exclusive};
    auto guard = session.acquire({alone}).value();
    auto others = tables.get_item({.table = "orders", .key = order});  // refused: locked
    auto own = tables.get_item({.table = "orders", .key = order, .proof = guard.proof()});
    //! [exclusive]
    BOOST_TEST_REQUIRE(!others);
    BOOST_TEST((others.error().code == rocklock::ErrorCode::locked));
    BOOST_TEST(own.has_value());
}

BOOST_AUTO_TEST_SUITE_END()
