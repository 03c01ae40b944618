// Writes that came too late for their locks, and are kept as drafts.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/testing/faulty_storage.hpp>

#include "database/shop.hpp"

namespace rocklock::testing {
namespace {

// `orders` is bound, and its class keeps drafts; anybody may steal.
struct DraftShop : Shop {
    DraftShop() {
        bind("orders", "orders/{id}");
        LockClass kept;
        kept.pattern = "orders/*";
        kept.steal = StealPolicy::anyone;
        kept.drafts = true;
        BOOST_TEST_REQUIRE(database->put_class(kept).has_value());
    }

    std::vector<Draft> drafts_of(const std::string& principal) const {
        return tables->list_drafts(principal).value();
    }
};

std::string draft_text(const Draft& draft) {
    return *draft.write.item.find("text")->get_if<std::string>();
}

TransactWrite all_of(std::vector<WriteItem> actions) {
    TransactWrite request;
    request.actions = std::move(actions);
    return request;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(a_draft, *boost::unit_test::label("embedded"))

BOOST_AUTO_TEST_CASE(has_what_came_too_late_behind_a_theft) {
    DraftShop shop;
    Guard loser = Shop::lock(shop.ann, "orders/1");
    Guard thief = shop.bob.steal(loser.id(), "urgent").value();
    BOOST_TEST_REQUIRE(outcome(shop.tables->write_item(order("1", "bob's", thief.proof()))) ==
                       "done");
    const auto late = shop.tables->write_item(order("1", "ann's", loser.proof()));
    BOOST_TEST_REQUIRE(outcome(late) == "stale_token");
    BOOST_TEST(late.error().drafts == 1U);
    BOOST_TEST(late.error().message.ends_with("was kept as a draft"));
    BOOST_TEST(text_of(shop, "1") == "bob's");
    const auto drafts = shop.drafts_of("ann");
    BOOST_TEST_REQUIRE(drafts.size() == 1U);
    BOOST_TEST(drafts[0].principal == "ann");
    BOOST_TEST((drafts[0].token == loser.token()));
    BOOST_TEST((drafts[0].at == shop.clock.now().wall));
    BOOST_TEST(drafts[0].resource == "orders/1");
    BOOST_TEST(drafts[0].write.table == "orders");
    BOOST_TEST((drafts[0].write.kind == WriteItem::Kind::put));
    BOOST_TEST(draft_text(drafts[0]) == "ann's");
    BOOST_TEST(!drafts[0].write.proof.has_value());
    BOOST_TEST(shop.drafts_of("bob").empty());
    BOOST_TEST(shop.drafts_of("an").empty());
    BOOST_TEST(shop.drafts_of("ann2").empty());
}

BOOST_AUTO_TEST_CASE(has_what_came_too_late_behind_a_lease_or_a_break) {
    DraftShop shop;
    Guard broken = Shop::lock(shop.ann, "orders/1");
    BOOST_TEST_REQUIRE(shop.database->break_grant(broken.id(), "root", "test").has_value());
    BOOST_TEST(outcome(shop.tables->write_item(order("1", "broken", broken.proof()))) ==
               "stale_token");
    Guard expired = Shop::lock(shop.bob, "orders/2");
    shop.sleep(11s);
    BOOST_TEST(outcome(shop.tables->write_item(order("2", "expired", expired.proof()))) ==
               "stale_token");
    // The table of locks has forgotten it by now; the history has not.
    testing::pass(*shop.database, shop.clock, 60s);
    BOOST_TEST(outcome(shop.tables->write_item(order("2", "later", expired.proof()))) ==
               "stale_token");
    BOOST_TEST_REQUIRE(shop.drafts_of("ann").size() == 1U);
    BOOST_TEST(draft_text(shop.drafts_of("ann")[0]) == "broken");
    // Of one token and item the last is kept.
    BOOST_TEST_REQUIRE(shop.drafts_of("bob").size() == 1U);
    BOOST_TEST(draft_text(shop.drafts_of("bob")[0]) == "later");
    BOOST_TEST(text_of(shop, "1") == "none");
    BOOST_TEST(text_of(shop, "2") == "none");
}

// It had been let in, and lost the lock before its commit.
BOOST_AUTO_TEST_CASE(has_what_was_decided_in_time_and_committed_late) {
    DraftShop shop;
    Guard loser = Shop::lock(shop.ann, "orders/1");
    shop.storage->meanwhile([&] {
        Guard thief = shop.bob.steal(loser.id(), "urgent").value();
        BOOST_TEST(outcome(shop.tables->write_item(order("1", "bob's", thief.proof()))) == "done");
        thief.detach();
    });
    const auto late = shop.tables->write_item(order("1", "ann's", loser.proof()));
    BOOST_TEST_REQUIRE(outcome(late) == "stale_token");
    BOOST_TEST(late.error().drafts == 1U);
    BOOST_TEST(text_of(shop, "1") == "bob's");
    BOOST_TEST_REQUIRE(shop.drafts_of("ann").size() == 1U);
    BOOST_TEST(draft_text(shop.drafts_of("ann")[0]) == "ann's");
}

BOOST_AUTO_TEST_CASE(has_each_late_write_of_a_transaction) {
    DraftShop shop;
    Guard loser =
        shop.ann.acquire({lock_of("orders/1", Mode::write), lock_of("orders/2", Mode::write)})
            .value();
    const Guard mine = Shop::lock(shop.ann, "orders/3");
    Guard thief = shop.bob.steal(loser.id(), "urgent").value();
    const auto late = shop.tables->transact_write(
        all_of({order("1", "one", loser.proof()), order("2", "two", loser.proof()),
                order("3", "three", mine.proof())}));
    BOOST_TEST_REQUIRE(outcome(late) == "transaction_cancelled");
    BOOST_TEST((late.error().reasons.at(0).code == ErrorCode::stale_token));
    BOOST_TEST(late.error().drafts == 2U);
    const auto drafts = shop.drafts_of("ann");
    BOOST_TEST_REQUIRE(drafts.size() == 2U);
    BOOST_TEST(draft_text(drafts[0]) == "one");
    BOOST_TEST(draft_text(drafts[1]) == "two");
    BOOST_TEST((drafts[0].id != drafts[1].id));
    BOOST_TEST(text_of(shop, "3") == "none");
    // By way of the guard.
    BOOST_TEST(outcome(loser.save_and_release(*shop.tables, all_of({order("1", "anew")}))) ==
               "transaction_cancelled");
    BOOST_TEST(shop.drafts_of("ann").size() == 2U);
    // The thief's lock is not given up by another's save.
    BOOST_TEST(thief.assert_held("orders/1", Mode::write).has_value());
    BOOST_TEST(outcome(shop.tables->write_item(order("1", "bob's", thief.proof()))) == "done");
}

BOOST_AUTO_TEST_CASE(can_be_written_again_under_a_new_lock) {
    DraftShop shop;
    Guard first = Shop::lock(shop.ann, "orders/1");
    BOOST_TEST_REQUIRE(outcome(shop.tables->write_item(order("1", "one", first.proof()))) ==
                       "done");
    WriteItem update;
    update.kind = WriteItem::Kind::update;
    update.table = "orders";
    update.item = AttributeMap{{"id", "1"}};
    update.expressions.update = "SET #t = :new";
    update.expressions.condition = "#t = :old";
    update.expressions.placeholders.names.emplace().push_back({"#t", "text"});
    auto& values = update.expressions.placeholders.values.emplace();
    values.push_back({":new", "two"});
    values.push_back({":old", "one"});
    update.proof = first.proof();
    BOOST_TEST_REQUIRE(shop.database->break_grant(first.id(), "root", "test").has_value());
    BOOST_TEST_REQUIRE(outcome(shop.tables->write_item(update)) == "stale_token");
    const auto drafts = shop.drafts_of("ann");
    BOOST_TEST_REQUIRE(drafts.size() == 1U);
    const Guard second = Shop::lock(shop.ann, "orders/1");
    WriteItem again = drafts[0].write;
    BOOST_TEST(*again.expressions.update == "SET #t = :new");
    BOOST_TEST(*again.expressions.condition == "#t = :old");
    again.proof = second.proof();
    BOOST_TEST(outcome(shop.tables->write_item(again)) == "done");
    BOOST_TEST(text_of(shop, "1") == "two");
    BOOST_TEST(outcome(shop.tables->discard_draft("ann", drafts[0].id)) == "done");
    BOOST_TEST(shop.drafts_of("ann").empty());
}

BOOST_AUTO_TEST_CASE(is_taken_once_and_by_its_principal) {
    DraftShop shop;
    Guard loser = Shop::lock(shop.ann, "orders/1");
    BOOST_TEST_REQUIRE(shop.database->break_grant(loser.id(), "root", "test").has_value());
    BOOST_TEST_REQUIRE(outcome(shop.tables->write_item(order("1", "ann's", loser.proof()))) ==
                       "stale_token");
    const DraftId id = shop.drafts_of("ann").at(0).id;
    BOOST_TEST(outcome(shop.tables->take_draft("bob", id)) == "resource_not_found");
    BOOST_TEST(outcome(shop.tables->discard_draft("bob", id)) == "resource_not_found");
    const auto taken = shop.tables->take_draft("ann", id);
    BOOST_TEST_REQUIRE(outcome(taken) == "done");
    BOOST_TEST(draft_text(*taken) == "ann's");
    BOOST_TEST(outcome(shop.tables->take_draft("ann", id)) == "resource_not_found");
    BOOST_TEST(outcome(shop.tables->discard_draft("ann", id)) == "resource_not_found");
    BOOST_TEST(shop.drafts_of("ann").empty());
}

BOOST_AUTO_TEST_CASE(is_kept_of_lost_locks_alone) {
    DraftShop shop;
    const auto none = [&](const Result<WriteAnswer>& refused, const std::string& code) {
        BOOST_TEST(outcome(refused) == code);
        BOOST_TEST(!refused.has_value());
        if (!refused) BOOST_TEST(refused.error().drafts == 0U);
    };
    none(shop.tables->write_item(order("1", "nothing shown")), "lock_required");
    none(shop.tables->write_item(order("1", "no such token", LockProof{shop.ann.id(), Token{77}})),
         "stale_token");
    Guard given_up = Shop::lock(shop.ann, "orders/1");
    const LockProof released = given_up.proof();
    BOOST_TEST_REQUIRE(given_up.release().has_value());
    none(shop.tables->write_item(order("1", "released", released)), "stale_token");
    const Guard held = Shop::lock(shop.ann, "orders/1");
    none(shop.tables->write_item(order("2", "another item", held.proof())), "lock_required");
    Guard reads = Shop::lock(shop.ann, "orders/3", Mode::read);
    BOOST_TEST_REQUIRE(shop.database->break_grant(reads.id(), "root", "test").has_value());
    none(shop.tables->write_item(order("3", "read", reads.proof())), "stale_token");
    Guard elsewhere = Shop::lock(shop.ann, "orders/4");
    BOOST_TEST_REQUIRE(shop.database->break_grant(elsewhere.id(), "root", "test").has_value());
    none(shop.tables->write_item(order("5", "not its item", elsewhere.proof())), "stale_token");
    none(shop.tables->write_item(
             order("4", "not its session", LockProof{shop.bob.id(), elsewhere.token()})),
         "lock_required");
    BOOST_TEST(shop.drafts_of("ann").empty());
    BOOST_TEST(shop.drafts_of("bob").empty());
}

BOOST_AUTO_TEST_CASE(is_not_kept_where_the_class_does_not) {
    Shop shop;
    shop.bind("orders", "orders/{id}");
    Guard loser = Shop::lock(shop.ann, "orders/1");
    BOOST_TEST_REQUIRE(shop.database->break_grant(loser.id(), "root", "test").has_value());
    const auto late = shop.tables->write_item(order("1", "ann's", loser.proof()));
    BOOST_TEST_REQUIRE(outcome(late) == "stale_token");
    BOOST_TEST(late.error().drafts == 0U);
    BOOST_TEST(shop.tables->list_drafts("ann").value().empty());
}

// Once the refusal is told, the draft is there whatever happens; and the class that keeps drafts.
BOOST_AUTO_TEST_CASE(outlives_a_kill) {
    SimulatedClock clock;
    auto faulty = std::make_unique<FaultyStorage>(clock);
    FaultyStorage& disk = *faulty;
    Database database = Database::open_on(std::move(faulty), simulated(clock)).value();
    TableService& tables = *database.tables().value();
    CreateTable orders;
    orders.table = "orders";
    orders.attributes = {{"id", AttributeType::string}};
    orders.key = {{"id", KeyType::hash}};
    orders.billing = BillingMode::pay_per_request;
    BOOST_TEST_REQUIRE(tables.create_table(orders).has_value());
    BOOST_TEST_REQUIRE(tables.bind_table({"orders", "orders/{id}", false}).has_value());
    LockClass kept;
    kept.pattern = "orders/*";
    kept.drafts = true;
    BOOST_TEST_REQUIRE(database.put_class(kept).has_value());
    Session ann = database.open_session("ann").value();
    Guard loser = ann.acquire("orders/1").value();
    BOOST_TEST_REQUIRE(database.break_grant(loser.id(), "root", "test").has_value());
    BOOST_TEST_REQUIRE(outcome(tables.write_item(order("1", "ann's", loser.proof()))) ==
                       "stale_token");
    Database after = Database::open_on(disk.reopen_after_kill(), simulated(clock)).value();
    const auto drafts = after.tables().value()->list_drafts("ann").value();
    BOOST_TEST_REQUIRE(drafts.size() == 1U);
    BOOST_TEST(draft_text(drafts[0]) == "ann's");
    BOOST_TEST(after.classes().at(0).drafts);
    // A late write is kept now as it was before.
    const auto late = after.tables().value()->write_item(order("1", "once more", loser.proof()));
    BOOST_TEST(outcome(late) == "stale_token");
    const auto then = after.tables().value()->list_drafts("ann").value();
    BOOST_TEST_REQUIRE(then.size() == 1U);
    BOOST_TEST(draft_text(then[0]) == "once more");
    BOOST_TEST(number(then[0].id) > number(drafts[0].id));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
