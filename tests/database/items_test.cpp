// Locks and the items that they protect: acquire_item(), and reacquiring a lost lock.
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/testing/faulty_storage.hpp>

#include "database/orders.hpp"
#include "database/shop.hpp"

namespace rocklock::testing {
namespace {

std::string text_under(const Result<LockedItem>& locked) {
    if (!locked) return std::string(to_string(locked.error().code));
    if (!locked->item) return "none";
    return *locked->item->find("text")->get_if<std::string>();
}

AcquireOptions patient(milliseconds patience) {
    AcquireOptions options;
    options.patience = patience;
    return options;
}

std::string held_by(Database& database, std::string_view resource) {
    std::string names;
    const LockView view = database.show(resource).value();
    for (const Holder& holder : view.holders) names += holder.principal;
    return names;
}

TransactWrite saved(WriteItem action) {
    TransactWrite request;
    request.actions.push_back(std::move(action));
    return request;
}

// Creates the table and binds it.
void make_orders(TableService& tables) {
    create_orders(tables);
    bind_orders(tables);
}

// A shop with background threads and the system clock.
struct SystemShop {
    SystemShop() : database(host.connect_to(open_test_database().value(), system_clock(), true)) {
        tables = database->tables().value();
        make_orders(*tables);
        ann = database->open_session("ann").value();
        bob = database->open_session("bob").value();
    }

    Hosted host;
    Result<Database> database;
    TableService* tables = nullptr;
    Session ann;
    Session bob;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(an_item_acquired_with_its_lock)

BOOST_AUTO_TEST_CASE(has_the_last_saved_state) {
    Shop shop;
    shop.bind("orders", "orders/{id}");
    {
        auto first = shop.ann.acquire_item(*shop.tables, order_to_lock("1"));
        BOOST_TEST_REQUIRE(text_under(first) == "none");
        BOOST_TEST(first->version == 0U);
        BOOST_TEST(!first->last_write);
        BOOST_TEST(first->guard.assert_held("orders/1", Mode::write).has_value());
        BOOST_TEST(outcome(shop.tables->write_item(order("1", "ann's", first->guard.proof()))) ==
                   "done");
    }
    BOOST_TEST(held_by(*shop.database, "orders/1").empty());
    const auto second = shop.bob.acquire_item(*shop.tables, order_to_lock("1"));
    BOOST_TEST_REQUIRE(text_under(second) == "ann's");
    BOOST_TEST_REQUIRE(second->last_write.has_value());
    BOOST_TEST(second->last_write->by == "ann");
    WriteItem again = order("1", "bob's", second->guard.proof());
    again.expected_version = second->version;
    BOOST_TEST(outcome(shop.tables->write_item(again)) == "done");
}

BOOST_AUTO_TEST_CASE(may_be_requested_in_a_mode) {
    Shop shop;
    shop.bind("orders", "orders/{id}");
    ItemToLock wanted = order_to_lock("1");
    wanted.mode = Mode::exclusive;
    const auto locked = shop.ann.acquire_item(*shop.tables, wanted);
    BOOST_TEST_REQUIRE(text_under(locked) == "none");
    BOOST_TEST((locked->guard.grant().locks.at(0).mode == Mode::exclusive));
    BOOST_TEST(text_of(shop, "1") == "locked");
}

// The previous holder has decided its save, and releases the lock with it while another session
// waits.
BOOST_AUTO_TEST_CASE(has_changes_that_were_saved_during_the_wait) {
    SystemShop shop;
    Guard before = shop.ann.acquire("orders/1").value();
    std::atomic<bool> waits = false;
    std::string seen;
    std::thread waiter([&] {
        waits = true;
        seen = text_under(shop.bob.acquire_item(*shop.tables, order_to_lock("1"), patient(20s)));
    });
    while (!waits || shop.database->show("orders/1").value().waiters.empty()) {
        std::this_thread::yield();
    }
    BOOST_TEST(outcome(before.save_and_release(*shop.tables, saved(order("1", "ann's")))) ==
               "done");
    waiter.join();
    BOOST_TEST(seen == "ann's");
}

// The previous holder was stopped between its decision and its commit, and lost its lock meanwhile.
BOOST_AUTO_TEST_CASE(is_not_changed_by_a_writer_that_was_admitted_before,
                     *boost::unit_test::label("embedded")) {
    Shop shop;
    shop.bind("orders", "orders/{id}");
    Guard before = Shop::lock(shop.ann, "orders/1");
    BOOST_TEST_REQUIRE(outcome(shop.tables->write_item(order("1", "one", before.proof()))) ==
                       "done");
    std::optional<LockedItem> locked;
    shop.storage->meanwhile([&] {
        BOOST_TEST_REQUIRE(shop.database->break_grant(before.id(), "root", "test").has_value());
        locked.emplace(shop.bob.acquire_item(*shop.tables, order_to_lock("1")).value());
    });
    BOOST_TEST(outcome(shop.tables->write_item(order("1", "late", before.proof()))) ==
               "stale_token");
    BOOST_TEST_REQUIRE(locked.has_value());
    BOOST_TEST(*locked->item->find("text")->get_if<std::string>() == "one");
    GetItem get;
    get.table = "orders";
    get.key = order_to_lock("1").key;
    BOOST_TEST(shop.tables->get_item(get).value().version == locked->version);
}

// The save was committed but not answered when the lock was broken.
BOOST_AUTO_TEST_CASE(has_changes_that_were_committed_before, *boost::unit_test::label("embedded")) {
    Shop shop;
    shop.bind("orders", "orders/{id}");
    Guard before = Shop::lock(shop.ann, "orders/1");
    std::string seen;
    shop.storage->afterwards([&] {
        BOOST_TEST_REQUIRE(shop.database->break_grant(before.id(), "root", "test").has_value());
        seen = text_under(shop.bob.acquire_item(*shop.tables, order_to_lock("1")));
    });
    BOOST_TEST(outcome(shop.tables->write_item(order("1", "in time", before.proof()))) == "done");
    BOOST_TEST(seen == "in time");
}

// If each client writes what it read under its lock, no update is lost, even without a version
// check.
BOOST_AUTO_TEST_CASE(can_be_counted_on_by_many_threads) {
    SystemShop shop;
    constexpr int threads = 4;
    constexpr int rounds = 25;
    std::atomic<int> failures = 0;
    const auto count = [&](const std::string& name) {
        Session session = shop.database->open_session(name).value();
        for (int i = 0; i < rounds; ++i) {
            auto locked = session.acquire_item(*shop.tables, order_to_lock("1"), patient(30s));
            if (!locked) {
                ++failures;
                continue;
            }
            const int before = locked->item ? std::stoi(text_under(locked)) : 0;
            const auto written = locked->guard.save_and_release(
                *shop.tables, saved(order("1", std::to_string(before + 1))));
            if (!written) ++failures;
        }
    };
    std::vector<std::thread> crowd;
    for (int i = 0; i < threads; ++i) {
        crowd.emplace_back(count, "editor-" + std::to_string(i));
    }
    for (auto& thread : crowd) thread.join();
    BOOST_TEST(failures == 0);
    BOOST_TEST(text_under(shop.ann.acquire_item(*shop.tables, order_to_lock("1"))) ==
               std::to_string(threads * rounds));
}

BOOST_AUTO_TEST_CASE(is_refused_without_a_held_lock) {
    Shop shop;
    BOOST_TEST(text_under(shop.ann.acquire_item(*shop.tables, order_to_lock("1"))) ==
               "invalid_argument");
    shop.bind("orders", "orders/{id}");
    ItemToLock wrong = order_to_lock("1");
    wrong.key = AttributeMap{{"name", "1"}};
    BOOST_TEST(text_under(shop.ann.acquire_item(*shop.tables, wrong)) == "invalid_argument");
    wrong = order_to_lock("1");
    wrong.table = "nowhere";
    BOOST_TEST(text_under(shop.ann.acquire_item(*shop.tables, wrong)) == "resource_not_found");
    const Guard other = Shop::lock(shop.bob, "orders/1");
    const auto refused = shop.ann.acquire_item(*shop.tables, order_to_lock("1"));
    BOOST_TEST_REQUIRE(text_under(refused) == "conflict");
    BOOST_TEST(refused.error().blockers.at(0).principal == "bob");
    LockClass counted;
    counted.pattern = "orders/2";
    counted.permits = 2;
    BOOST_TEST_REQUIRE(shop.database->put_class(counted).has_value());
    BOOST_TEST(text_under(shop.ann.acquire_item(*shop.tables, order_to_lock("2"))) ==
               "kind_mismatch");
    Session none;
    BOOST_TEST(text_under(none.acquire_item(*shop.tables, order_to_lock("1"))) ==
               "invalid_argument");
    BOOST_TEST(shop.database->list().value().locks.size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_lost_lock)

BOOST_AUTO_TEST_CASE(is_reacquired_if_it_was_not_granted_since) {
    Shop shop;
    shop.bind("orders", "orders/{id}");
    Guard guard = Shop::lock(shop.ann, "orders/1");
    const Grant lost = guard.detach();
    shop.sleep(11s);
    Session again = shop.database->open_session("ann").value();
    auto back = again.reacquire_if_untouched(lost);
    BOOST_TEST_REQUIRE(outcome(back) == "done");
    BOOST_TEST(number(back->token()) > number(lost.token));
    BOOST_TEST(outcome(shop.tables->write_item(order("1", "ann's", back->proof()))) == "done");
    // The old token stays invalid.
    BOOST_TEST(outcome(shop.tables->write_item(
                   order("1", "late", LockProof{lost.session, lost.token}))) == "stale_token");
}

BOOST_AUTO_TEST_CASE(is_refused_with_the_holders_since) {
    Shop shop;
    Guard guard = Shop::lock(shop.ann, "orders/1");
    const Grant lost = guard.detach();
    shop.sleep(11s);
    shop.bob = shop.database->open_session("bob", Shop::with_lease(10s)).value();
    Session cleo = shop.database->open_session("cleo").value();
    { const Guard second = Shop::lock(shop.bob, "orders/1"); }
    { const Guard third = Shop::lock(cleo, "orders/1"); }
    Session again = shop.database->open_session("ann").value();
    const auto refused = again.reacquire_if_untouched(lost);
    BOOST_TEST_REQUIRE(outcome(refused) == "precondition_failed");
    BOOST_TEST_REQUIRE(refused.error().blockers.size() == 2U);
    BOOST_TEST(refused.error().blockers[0].principal == "cleo");
    BOOST_TEST(refused.error().blockers[1].principal == "bob");
    BOOST_TEST(refused.error().message.ends_with("since then it was held by cleo, bob"));
    BOOST_TEST(held_by(*shop.database, "orders/1").empty());
}

BOOST_AUTO_TEST_CASE(is_not_reacquired_by_another_principal) {
    Shop shop;
    Guard guard = Shop::lock(shop.ann, "orders/1");
    const Grant lost = guard.detach();
    shop.sleep(11s);
    Session bob = shop.database->open_session("bob").value();
    BOOST_TEST(outcome(bob.reacquire_if_untouched(lost)) == "not_owner");
    BOOST_TEST(held_by(*shop.database, "orders/1").empty());
}

// If the item is unchanged, the edit can continue under a new lock.
BOOST_AUTO_TEST_CASE(is_reacquired_if_the_item_is_unchanged) {
    Shop shop;
    shop.bind("orders", "orders/{id}");
    auto locked = shop.ann.acquire_item(*shop.tables, order_to_lock("1"));
    BOOST_TEST_REQUIRE(text_under(locked) == "none");
    BOOST_TEST_REQUIRE(outcome(shop.tables->write_item(order("1", "one", locked->guard.proof()))) ==
                       "done");
    BOOST_TEST_REQUIRE(locked->guard.release().has_value());
    locked = shop.ann.acquire_item(*shop.tables, order_to_lock("1"));
    const std::vector<ItemVersion> seen{{"orders", order_to_lock("1").key, locked->version}};
    const Grant lost = locked->guard.grant();
    // The lock is stolen and released without a change.
    LockClass anyone;
    anyone.pattern = "orders/*";
    anyone.steal = StealPolicy::anyone;
    BOOST_TEST_REQUIRE(shop.database->put_class(anyone).has_value());
    { const Guard thief = shop.bob.steal(lost.id, "urgent").value(); }
    BOOST_TEST(outcome(shop.ann.reacquire_if_untouched(lost)) == "grant_ended");
    auto back = shop.ann.reacquire_if_unchanged(*shop.tables, lost, seen);
    BOOST_TEST_REQUIRE(outcome(back) == "done");
    BOOST_TEST(number(back->token()) > number(lost.token));
    BOOST_TEST((back->grant().locks.at(0).mode == Mode::write));
    WriteItem edit = order("1", "two", back->proof());
    edit.expected_version = locked->version;
    BOOST_TEST(outcome(shop.tables->write_item(edit)) == "done");
}

BOOST_AUTO_TEST_CASE(is_refused_with_the_changes_since_then) {
    Shop shop;
    shop.bind("orders", "orders/{id}");
    auto locked = shop.ann.acquire_item(*shop.tables, order_to_lock("1"));
    BOOST_TEST_REQUIRE(text_under(locked) == "none");
    const std::vector<ItemVersion> seen{{"orders", order_to_lock("1").key, locked->version}};
    const Grant lost = locked->guard.detach();
    shop.sleep(11s);
    shop.bob = shop.database->open_session("bob", Shop::with_lease(10s)).value();
    {
        const Guard next = Shop::lock(shop.bob, "orders/1");
        BOOST_TEST(outcome(shop.tables->write_item(order("1", "bob's", next.proof()))) == "done");
    }
    Session again = shop.database->open_session("ann").value();
    const auto refused = again.reacquire_if_unchanged(*shop.tables, lost, seen);
    BOOST_TEST_REQUIRE(outcome(refused) == "condition_failed");
    BOOST_TEST_REQUIRE(refused.error().changes.size() == 1U);
    BOOST_TEST(refused.error().changes[0].table == "orders");
    BOOST_TEST_REQUIRE(refused.error().changes[0].last_write.has_value());
    BOOST_TEST(refused.error().changes[0].last_write->by == "bob");
    BOOST_TEST_REQUIRE(refused.error().blockers.size() == 1U);
    BOOST_TEST(refused.error().blockers[0].principal == "bob");
    BOOST_TEST(held_by(*shop.database, "orders/1").empty());
    BOOST_TEST(text_of(shop, "1") == "bob's");
}

// Another session holds the lock, has decided a write, and is stopped before its commit.
BOOST_AUTO_TEST_CASE(is_compared_with_the_state_before_the_reacquire,
                     *boost::unit_test::label("embedded")) {
    Shop shop;
    shop.bind("orders", "orders/{id}");
    auto locked = shop.ann.acquire_item(*shop.tables, order_to_lock("1"));
    const std::vector<ItemVersion> seen{{"orders", order_to_lock("1").key, locked->version}};
    const Grant lost = locked->guard.detach();
    shop.sleep(11s);
    shop.bob = shop.database->open_session("bob", Shop::with_lease(10s)).value();
    Session again = shop.database->open_session("ann").value();
    Guard next = Shop::lock(shop.bob, "orders/1");
    shop.storage->meanwhile([&] {
        BOOST_TEST(outcome(again.reacquire_if_unchanged(*shop.tables, lost, seen)) == "conflict");
        BOOST_TEST_REQUIRE(shop.database->break_grant(next.id(), "root", "test").has_value());
        again.reacquire_if_unchanged(*shop.tables, lost, seen).value().detach();
    });
    BOOST_TEST(outcome(shop.tables->write_item(order("1", "bob's", next.proof()))) ==
               "stale_token");
    BOOST_TEST(held_by(*shop.database, "orders/1") == "ann");
    BOOST_TEST(text_of(shop, "1") == "none");
}

BOOST_AUTO_TEST_CASE(must_cover_the_items) {
    Shop shop;
    shop.bind("orders", "orders/{id}");
    const Grant lost = Shop::lock(shop.ann, "orders/1").detach();
    BOOST_TEST_REQUIRE(shop.database->break_grant(lost.id, "root", "test").has_value());
    const auto refused = shop.ann.reacquire_if_unchanged(*shop.tables, lost,
                                                         {{"orders", order_to_lock("2").key, 0}});
    BOOST_TEST(outcome(refused) == "lock_required");
    BOOST_TEST(held_by(*shop.database, "orders/1").empty());
}

BOOST_AUTO_TEST_CASE(is_reacquired_in_a_store_that_was_opened_again,
                     *boost::unit_test::label("embedded")) {
    SimulatedClock clock;
    auto faulty = std::make_unique<FaultyStorage>(clock);
    FaultyStorage& disk = *faulty;
    Database database = Database::open_on(std::move(faulty), simulated(clock)).value();
    TableService& tables = *database.tables().value();
    make_orders(tables);
    Session ann = database.open_session("ann").value();
    const Grant kept = ann.acquire("orders/1").value().detach();
    const Grant touched = ann.acquire("orders/2").value().detach();
    BOOST_TEST_REQUIRE(database.break_grant(kept.id, "root", "test").has_value());
    BOOST_TEST_REQUIRE(database.break_grant(touched.id, "root", "test").has_value());
    Session bob = database.open_session("bob").value();
    {
        const Guard between = bob.acquire("orders/2").value();
        BOOST_TEST(outcome(tables.write_item(order("2", "bob's", between.proof()))) == "done");
    }
    database.tick();
    Database after = Database::open_on(disk.reopen_after_kill(), simulated(clock)).value();
    Session again = after.open_session("ann").value();
    const auto refused = again.reacquire_if_untouched(touched);
    BOOST_TEST_REQUIRE(outcome(refused) == "precondition_failed");
    BOOST_TEST_REQUIRE(refused.error().blockers.size() == 1U);
    BOOST_TEST(refused.error().blockers[0].principal == "bob");
    const auto changed = again.reacquire_if_unchanged(*after.tables().value(), touched,
                                                      {{"orders", order_to_lock("2").key, 0}});
    BOOST_TEST(outcome(changed) == "condition_failed");
    BOOST_TEST(outcome(again.reacquire_if_untouched(kept)) == "done");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
