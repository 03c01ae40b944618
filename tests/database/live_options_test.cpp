// Options of an open database that can be changed: limits of users, and the retention of drafts.
#include <string>
#include <utility>

#include <boost/test/unit_test.hpp>

#include "database/drafts/draft_shop.hpp"

namespace rocklock::testing {

using namespace drafts;

namespace {

// Writes `count` items after the lock of all orders was lost.
void write_late(DraftShop& shop, int first, int count) {
    LockRequest all = lock_of("orders", Mode::write);
    all.subtree = true;
    Guard lost = shop.ann.acquire({all}).value();
    BOOST_TEST_REQUIRE(shop.database->break_grant(lost.id(), "root", "test").has_value());
    for (int i = first; i < first + count; ++i) {
        const auto late = shop.tables->write_item(
            order(std::to_string(i), "late " + std::to_string(i), lost.proof()));
        BOOST_TEST_REQUIRE(late.error().drafts == 1U);
    }
}

void sweep(DraftShop& shop) {
    shop.sleep(std::chrono::seconds(11));
    while (shop.tables->sweep_expired({}).value().next.count() == 0) continue;
}

std::string texts(const DraftShop& shop) {
    std::string texts;
    for (const Draft& draft : shop.drafts_of("ann")) texts += draft_text(draft) + ";";
    return texts;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(the_retention_of_drafts, *boost::unit_test::label("embedded"))

BOOST_AUTO_TEST_CASE(limits_their_number_for_a_principal) {
    DraftShop shop;
    write_late(shop, 0, 60);
    Retention retention;
    retention.max_principal_drafts = 4;
    BOOST_TEST_REQUIRE(shop.database->set_retention(retention).has_value());
    // The sweep deletes the oldest drafts that exceed the new maximum.
    sweep(shop);
    BOOST_TEST(texts(shop) == "late 56;late 57;late 58;late 59;");
    BOOST_TEST(shop.tables->draft_count() == 4U);
    // A new draft replaces the oldest one.
    shop.ann = shop.database->open_session("ann", Shop::with_lease(10s)).value();
    write_late(shop, 60, 1);
    BOOST_TEST(texts(shop) == "late 57;late 58;late 59;late 60;");
    BOOST_TEST(shop.tables->draft_count() == 4U);
}

// The maximum applies to the drafts of each user, so that no user displaces those of another.
BOOST_AUTO_TEST_CASE(limits_their_number_for_each_user) {
    DraftShop shop;
    LockRequest all = lock_of("orders", Mode::write);
    all.subtree = true;
    Guard lost = shop.ann.acquire({all}).value();
    BOOST_TEST_REQUIRE(shop.database->break_grant(lost.id(), "root", "test").has_value());
    LockProof proof = lost.proof();
    for (const auto& [user, id] :
         {std::pair(1000U, "a"), std::pair(1001U, "b"), std::pair(1000U, "c"),
          std::pair(1000U, "d"), std::pair(1001U, "e")}) {
        proof.user = user;
        BOOST_TEST_REQUIRE(shop.tables->write_item(order(id, id, proof)).error().drafts == 1U);
    }
    Retention retention;
    retention.max_principal_drafts = 2;
    BOOST_TEST_REQUIRE(shop.database->set_retention(retention).has_value());
    sweep(shop);
    BOOST_TEST(texts(shop) == "b;c;d;e;");
    retention.max_principal_drafts = 1;
    BOOST_TEST_REQUIRE(shop.database->set_retention(retention).has_value());
    sweep(shop);
    BOOST_TEST(texts(shop) == "d;e;");
}

BOOST_AUTO_TEST_CASE(limits_their_age) {
    DraftShop shop;
    write_late(shop, 0, 2);
    Retention retention;
    retention.draft_age = std::chrono::hours{2};
    BOOST_TEST_REQUIRE(shop.database->set_retention(retention).has_value());
    shop.sleep(std::chrono::hours{2} - 1ms);
    BOOST_TEST(texts(shop) == "late 0;late 1;");
    shop.sleep(1ms);
    BOOST_TEST(texts(shop).empty());
    BOOST_TEST(shop.tables->draft_count() == 2U);
    sweep(shop);
    BOOST_TEST(shop.tables->draft_count() == 0U);
}

BOOST_AUTO_TEST_CASE(is_checked) {
    DraftShop shop;
    Retention retention;
    retention.max_principal_drafts = 0;
    const auto refused = shop.database->set_retention(retention);
    BOOST_TEST_REQUIRE(!refused.has_value());
    BOOST_TEST((refused.error().code == ErrorCode::invalid_argument));
    DatabaseOptions options = simulated(shop.clock);
    options.retention = retention;
    BOOST_TEST((open_test_database(options).error().code == ErrorCode::invalid_argument));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(the_limits_of_users, *boost::unit_test::label("embedded"))

BOOST_AUTO_TEST_CASE(can_be_changed_if_users_are_counted) {
    SimulatedClock clock;
    DatabaseOptions options = simulated(clock);
    options.count_users = true;
    Database database = open_test_database(options).value();
    Session first = database.open_session("ann").value();
    BOOST_TEST_REQUIRE(database.set_user_limits({.sessions = 1}).has_value());
    const auto refused = database.open_session("ann");
    BOOST_TEST_REQUIRE(!refused.has_value());
    BOOST_TEST((refused.error().code == ErrorCode::limit_exceeded));
    BOOST_TEST_REQUIRE(database.set_user_limits({.sessions = 2}).has_value());
    BOOST_TEST(database.open_session("ann").has_value());
}

BOOST_AUTO_TEST_CASE(are_refused_if_users_are_not_counted) {
    SimulatedClock clock;
    Database database = open_test_database(simulated(clock)).value();
    const auto refused = database.set_user_limits({.sessions = 1});
    BOOST_TEST_REQUIRE(!refused.has_value());
    BOOST_TEST((refused.error().code == ErrorCode::invalid_argument));
    BOOST_TEST(database.set_user_limits({}).has_value());
}

BOOST_AUTO_TEST_CASE(apply_to_tables_and_drafts) {
    const UserLimits limits{.table_bytes = 1};
    SimulatedClock clock;
    DatabaseOptions options = simulated(clock);
    options.count_users = true;
    Database database = open_test_database(options).value();
    CreateTable table = orders_table();
    table.user = 1000;
    BOOST_TEST_REQUIRE(database.tables().value()->create_table(table).has_value());
    BOOST_TEST(outcome(database.tables().value()->write_item(order("1", "x"))) == "done");
    BOOST_TEST_REQUIRE(database.set_user_limits(limits).has_value());
    BOOST_TEST(outcome(database.tables().value()->write_item(order("2", "x"))) == "limit_exceeded");
    BOOST_TEST_REQUIRE(database.set_user_limits({}).has_value());
    BOOST_TEST(outcome(database.tables().value()->write_item(order("2", "x"))) == "done");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
