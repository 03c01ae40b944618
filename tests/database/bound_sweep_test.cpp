// The sweep of expired items in a table that is bound to resources.
#include <chrono>
#include <string>

#include <boost/test/unit_test.hpp>

#include "database/sweeps.hpp"

namespace rocklock::testing {

using namespace fences;

BOOST_AUTO_TEST_SUITE(a_sweep_of_a_bound_table, *boost::unit_test::label("embedded"))

BOOST_AUTO_TEST_CASE(removes_items_without_a_lock_and_leaves_the_others) {
    Shop shop;
    constexpr int count = 40;
    write_expired(shop, count);
    shop.bind("orders", "orders/{id}");
    // Long enough for a sweep to begin.
    const auto lease = Shop::with_lease(1h);
    Session patient = shop.database->open_session("ann", lease).value();
    Guard reads = Shop::lock(patient, "orders/3", Mode::read);
    Guard writes = Shop::lock(patient, "orders/17");
    LockRequest with_all_below = lock_of("orders/39", Mode::write);
    with_all_below.subtree = true;
    Guard below = patient.acquire({with_all_below}).value();
    BOOST_TEST(sweep(shop) == count - 3U);
    for (const auto* held : {"3", "17", "39"}) BOOST_TEST(text_of(shop, held) == "old", held);
    for (const auto* gone : {"1", "18", "40"}) BOOST_TEST(text_of(shop, gone) == "none", gone);
    // The sweep keeps no locks of its own.
    BOOST_TEST(shop.database->list().value().locks.size() == 3U);
    BOOST_TEST(sweep(shop) == 0U);
    BOOST_TEST(reads.release().has_value());
    BOOST_TEST(writes.release().has_value());
    BOOST_TEST(sweep(shop) == 2U);
    BOOST_TEST(below.release().has_value());
    BOOST_TEST(sweep(shop) == 1U);
    BOOST_TEST(shop.database->sessions("rocklock").value().empty());
}

BOOST_AUTO_TEST_CASE(takes_a_lock_that_others_see_in_the_history) {
    Shop shop;
    write_expired(shop, 2);
    shop.bind("orders", "orders/{id}");
    BOOST_TEST(sweep(shop) == 2U);
    const LockView view = shop.database->show("orders/2").value();
    BOOST_TEST_REQUIRE(view.last_holder.has_value());
    BOOST_TEST(view.last_holder->holder.principal == "rocklock");
    BOOST_TEST((view.last_holder->ending.outcome == Outcome::released));
}

// All items belong to one resource, which the sweep locks once.
BOOST_AUTO_TEST_CASE(removes_all_items_of_one_resource_or_none) {
    Shop shop;
    write_expired(shop, 60);
    shop.bind("orders", "all orders");
    Session patient = shop.database->open_session("ann", Shop::with_lease(1h)).value();
    Guard guard = Shop::lock(patient, "all orders");
    BOOST_TEST(sweep(shop) == 0U);
    BOOST_TEST(guard.release().has_value());
    BOOST_TEST(sweep(shop) == 60U);
}

BOOST_AUTO_TEST_CASE(keeps_items_whose_expiry_was_extended_under_a_lock) {
    Shop shop;
    write_expired(shop, 1);
    shop.bind("orders", "orders/{id}");
    const Guard guard = Shop::lock(shop.ann, "orders/1");
    BOOST_TEST(outcome(shop.tables->write_item(order("1", "new", guard.proof()))) == "done");
    shop.sleep(11s);
    BOOST_TEST(sweep(shop) == 0U);
    BOOST_TEST(text_of(shop, "1") == "new");
}

// The grant of the sweep is checked as that of any other writer.
BOOST_AUTO_TEST_CASE(removes_no_items_if_its_lock_is_stolen) {
    Shop shop;
    LockClass stolen;
    stolen.pattern = "orders/*";
    stolen.steal = StealPolicy::anyone;
    BOOST_TEST_REQUIRE(shop.database->put_class(stolen).has_value());
    write_expired(shop, 1);
    shop.bind("orders", "orders/{id}");
    shop.bob = shop.database->open_session("bob", Shop::with_lease(1h)).value();
    bool robbed = false;
    shop.storage->meanwhile([&] {
        const auto held = shop.database->list().value().locks;
        BOOST_TEST_REQUIRE(held.size() == 1U);
        BOOST_TEST(held.front().principal == "rocklock");
        BOOST_TEST(shop.bob.steal(held.front().grant, "test").has_value());
        robbed = true;
    });
    BOOST_TEST(sweep(shop) == 0U);
    BOOST_TEST(robbed);
    BOOST_TEST(text_of(shop, "1") == "old");
}

BOOST_AUTO_TEST_CASE(leaves_items_of_a_drained_class_until_it_is_resumed) {
    Shop shop;
    LockClass drained;
    drained.pattern = "orders/*";
    BOOST_TEST_REQUIRE(shop.database->put_class(drained).has_value());
    BOOST_TEST_REQUIRE(shop.database->drain_class("orders/*", "upkeep", "root").has_value());
    write_expired(shop, 3);
    shop.bind("orders", "orders/{id}");
    BOOST_TEST(sweep(shop) == 0U);
    BOOST_TEST(text_of(shop, "1") == "old");
    BOOST_TEST_REQUIRE(shop.database->resume_class("orders/*", "root").has_value());
    BOOST_TEST(sweep(shop) == 3U);
}

BOOST_AUTO_TEST_CASE(skips_items_whose_resource_cannot_be_locked) {
    Shop shop;
    write_expired(shop, 3);
    write_expired(shop, std::string(2'000, 'x'));
    shop.bind("orders", "orders/{id}");
    BOOST_TEST(sweep(shop) == 3U);
    BOOST_TEST(sweep(shop) == 0U);
    BOOST_TEST(outcome(shop.tables->unbind_table("orders")) == "done");
    BOOST_TEST(sweep(shop) == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
