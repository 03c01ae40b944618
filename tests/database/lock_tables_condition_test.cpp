// Conditions of transactions on the tables that show the lock table.
#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "database/lock_tables_requests.hpp"

namespace rocklock::testing {

using namespace lock_tables;

// ---- Effects of the conditions ----

BOOST_AUTO_TEST_SUITE(a_condition_of_a_lock)

BOOST_AUTO_TEST_CASE(admits_a_transaction_while_it_holds) {
    Shop shop;
    Guard guard = Shop::lock(shop.ann, "orders/1");
    const auto save = [&](std::string text, WriteItem check) {
        TransactWrite transaction;
        transaction.actions = {order("1", std::move(text)), std::move(check)};
        return reasons_of(shop.tables->transact_write(transaction));
    };
    const WriteItem writes = check_of("orders/1", guard.id(), "write");
    BOOST_TEST(save("first", writes) == "done");
    BOOST_TEST(save("x", check_of("orders/1", guard.id(), "read")) == "- condition_failed");
    BOOST_TEST(save("x", check_of("orders/2", guard.id(), "write")) == "- condition_failed");
    BOOST_TEST(save("x", check_absent("rocklock.locks", lock_key("orders/1", guard.id()))) ==
               "- condition_failed");
    const WriteItem gone = check_absent("rocklock.locks", lock_key("orders/2", guard.id()));
    BOOST_TEST(save("second", gone) == "done");
    BOOST_TEST(text_of(shop, "1") == "second");
    guard.release().value();
    BOOST_TEST(save("late", writes) == "- condition_failed");
    BOOST_TEST(save("third", check_absent("rocklock.locks", lock_key("orders/1", guard.id()))) ==
               "done");
    BOOST_TEST(text_of(shop, "1") == "third");
}

BOOST_AUTO_TEST_CASE(reports_the_items_that_it_found) {
    Shop shop;
    const Guard guard = Shop::lock(shop.ann, "orders/1", Mode::read);
    TransactWrite transaction;
    transaction.actions = {check_of("orders/1", guard.id(), "write")};
    transaction.actions[0].return_item_on_failure = true;
    const auto cancelled = shop.tables->transact_write(transaction);
    BOOST_TEST_REQUIRE(reasons_of(cancelled) == "condition_failed");
    const auto& item = cancelled.error().reasons.at(0).item;
    BOOST_TEST_REQUIRE(item != nullptr);
    BOOST_TEST(text_at(*item, "Mode") == "read");
    // A transaction of conditions only: one on an existing lock, one on an absent lock.
    transaction.actions = {check_of("orders/1", guard.id(), "read"),
                           check_absent("rocklock.locks", lock_key("orders/2", guard.id()))};
    BOOST_TEST(reasons_of(shop.tables->transact_write(transaction)) == "done");
}

// A change between the decision and the commit is detected.
BOOST_AUTO_TEST_CASE(is_checked_when_the_transaction_is_committed,
                     *boost::unit_test::label("embedded")) {
    struct Blow {
        std::string what;
        std::function<void(Shop&, const Guard&)> strike;
        std::string outcome;
    };
    const std::vector<Blow> blows = {
        {"the lease runs out", [](Shop& shop, const Guard&) { shop.sleep(11s); },
         "- condition_failed"},
        {"a release",
         [](Shop& shop, const Guard& guard) {
             std::ignore = shop.database->service().ask(Release{shop.ann.id(), guard.id()});
         },
         "- condition_failed"},
        {"a break",
         [](Shop& shop, const Guard& guard) {
             BOOST_TEST(shop.database->break_grant(guard.id(), "root", "test").has_value());
         },
         "- condition_failed"},
        {"a downgrade",
         [](Shop& shop, const Guard& guard) {
             Convert down;
             down.session = shop.ann.id();
             down.grant = guard.id();
             down.mode = Mode::read;
             BOOST_TEST(shop.database->service().ask(down).has_value());
         },
         "- condition_failed"},
        {"the end of the session",
         [](Shop& shop, const Guard&) {
             BOOST_TEST(shop.database->service().ask(CloseSession{shop.ann.id()}).has_value());
         },
         "- condition_failed"},
        {"the lease has ended, and another session has the lock",
         [](Shop& shop, const Guard&) {
             shop.sleep(11s);
             shop.bob = shop.database->open_session("bob", Shop::with_lease(10s)).value();
             Shop::lock(shop.bob, "orders/1").detach();
         },
         "- condition_failed"},
        {"a shorter lease",
         [](Shop& shop, const Guard&) {
             RenewSession renew;
             renew.session = shop.ann.id();
             renew.lease = 1s;
             BOOST_TEST(shop.database->service().ask(renew).has_value());
             shop.sleep(2s);
         },
         "- condition_failed"},
        {"a renewal", [](Shop& shop, const Guard&) { BOOST_TEST(shop.ann.renew().has_value()); },
         "done"},
    };
    for (const auto& blow : blows) {
        BOOST_TEST_CONTEXT(blow.what) {
            Shop shop;
            BOOST_TEST_REQUIRE(shop.tables->write_item(order("1", "old")).has_value());
            Guard guard = Shop::lock(shop.ann, "orders/1");
            bool struck = false;
            shop.storage->meanwhile([&] {
                struck = true;
                blow.strike(shop, guard);
            });
            TransactWrite transaction;
            transaction.actions = {order("1", "new"), check_of("orders/1", guard.id(), "write")};
            const auto written = shop.tables->transact_write(transaction);
            BOOST_TEST(struck);
            BOOST_TEST(reasons_of(written) == blow.outcome);
            BOOST_TEST(text_of(shop, "1") == (blow.outcome == "done" ? "new" : "old"));
            guard.detach();
        }
    }
}

// A condition on a lock that does not exist yet.
BOOST_AUTO_TEST_CASE(may_require_that_there_is_no_lock, *boost::unit_test::label("embedded")) {
    Shop shop;
    const Guard first = Shop::lock(shop.ann, "orders/1");
    // A store numbers its grants consecutively.
    const GrantId next{number(first.id()) + 1};
    std::optional<Guard> second;
    shop.storage->meanwhile([&] { second = Shop::lock(shop.bob, "orders/2"); });
    TransactWrite transaction;
    transaction.actions = {order("1", "new"),
                           check_absent("rocklock.locks", lock_key("orders/2", next))};
    const auto written = shop.tables->transact_write(transaction);
    BOOST_TEST_REQUIRE(second.has_value());
    BOOST_TEST_REQUIRE((second->id() == next));
    BOOST_TEST(reasons_of(written) == "- condition_failed");
    BOOST_TEST(text_of(shop, "1") == "none");
}

BOOST_AUTO_TEST_CASE(may_be_of_a_class, *boost::unit_test::label("embedded")) {
    Shop shop;
    LockClass orders;
    orders.pattern = "orders/*";
    shop.database->put_class(orders).value();
    TransactWrite transaction;
    WriteItem check;
    check.kind = Kind::check;
    check.table = "rocklock.classes";
    check.item = AttributeMap{{"Pattern", "orders/*"}};
    check.expressions.condition = "attribute_not_exists(Permits)";
    transaction.actions = {order("1", "new"), check};
    BOOST_TEST(reasons_of(shop.tables->transact_write(transaction)) == "done");
    shop.storage->meanwhile([&] {
        orders.permits = 3;
        shop.database->put_class(orders).value();
    });
    BOOST_TEST(reasons_of(shop.tables->transact_write(transaction)) == "- condition_failed");
}

BOOST_AUTO_TEST_CASE(is_refused_on_tables_that_change_without_a_write) {
    Shop shop(some_events);
    TransactWrite transaction;
    transaction.actions = {order("1", "new"),
                           check_absent("rocklock.sessions", {{"Session", "x"}})};
    const auto sessions = shop.tables->transact_write(transaction);
    BOOST_TEST_REQUIRE(outcome(sessions) == "invalid_argument");
    BOOST_TEST(sessions.error().message ==
               "A transaction cannot check a condition on table rocklock.sessions: its items "
               "change without a write");
    transaction.actions[1] = check_absent(
        "rocklock.history", {{"Resource", "a"}, {"Sequence", AttributeValue(Number(1))}});
    BOOST_TEST(outcome(shop.tables->transact_write(transaction)) == "invalid_argument");
    BOOST_TEST(text_of(shop, "1") == "none");
    // A version cannot be required either, because these items have none.
    const Guard guard = Shop::lock(shop.ann, "orders/1");
    ChangeSet changes(*shop.tables, "ann");
    BOOST_TEST_REQUIRE(changes.get("rocklock.locks", lock_key("orders/1", guard.id())).has_value());
    BOOST_TEST_REQUIRE(changes.put("orders", Item{{"id", "1"}, {"text", "changed"}}).has_value());
    const auto saved = changes.commit();
    BOOST_TEST_REQUIRE(outcome(saved) == "invalid_argument");
    BOOST_TEST(saved.error().message ==
               "Items of table rocklock.locks have no versions: give a condition");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
