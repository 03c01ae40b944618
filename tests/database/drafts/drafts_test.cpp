// Writes that arrive after their lock was lost, and are kept as drafts.
#include <optional>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "database/drafts/draft_shop.hpp"

namespace rocklock::testing {

using namespace drafts;

BOOST_AUTO_TEST_SUITE(a_draft)

BOOST_AUTO_TEST_CASE(keeps_a_write_that_came_after_a_steal) {
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

BOOST_AUTO_TEST_CASE(keeps_a_write_that_came_after_an_expiry_or_a_break) {
    DraftShop shop;
    Guard broken = Shop::lock(shop.ann, "orders/1");
    BOOST_TEST_REQUIRE(shop.database->break_grant(broken.id(), "root", "test").has_value());
    BOOST_TEST(outcome(shop.tables->write_item(order("1", "broken", broken.proof()))) ==
               "stale_token");
    Guard expired = Shop::lock(shop.bob, "orders/2");
    shop.sleep(11s);
    BOOST_TEST(outcome(shop.tables->write_item(order("2", "expired", expired.proof()))) ==
               "stale_token");
    // By now the lock table has dropped the grant, but the history still has it.
    testing::pass(*shop.database, shop.clock, 60s);
    BOOST_TEST(outcome(shop.tables->write_item(order("2", "later", expired.proof()))) ==
               "stale_token");
    BOOST_TEST_REQUIRE(shop.drafts_of("ann").size() == 1U);
    BOOST_TEST(draft_text(shop.drafts_of("ann")[0]) == "broken");
    // If several drafts have the same token and item, the last one is kept.
    BOOST_TEST_REQUIRE(shop.drafts_of("bob").size() == 1U);
    BOOST_TEST(draft_text(shop.drafts_of("bob")[0]) == "later");
    BOOST_TEST(text_of(shop, "1") == "none");
    BOOST_TEST(text_of(shop, "2") == "none");
}

// The write passed its checks, but the lock was lost before the commit.
BOOST_AUTO_TEST_CASE(is_kept_if_a_write_was_decided_in_time_and_committed_late,
                     *boost::unit_test::label("embedded")) {
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
    // The same save through the guard.
    BOOST_TEST(outcome(loser.save_and_release(*shop.tables, all_of({order("1", "anew")}))) ==
               "transaction_cancelled");
    BOOST_TEST(shop.drafts_of("ann").size() == 2U);
    // The refused save of the former holder does not release the thief's lock.
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

BOOST_AUTO_TEST_CASE(is_kept_only_for_lost_locks) {
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

BOOST_AUTO_TEST_CASE(is_not_kept_if_the_class_does_not_keep_drafts) {
    Shop shop;
    shop.bind("orders", "orders/{id}");
    Guard loser = Shop::lock(shop.ann, "orders/1");
    BOOST_TEST_REQUIRE(shop.database->break_grant(loser.id(), "root", "test").has_value());
    const auto late = shop.tables->write_item(order("1", "ann's", loser.proof()));
    BOOST_TEST_REQUIRE(outcome(late) == "stale_token");
    BOOST_TEST(late.error().drafts == 0U);
    BOOST_TEST(shop.tables->list_drafts({"ann"}).value().drafts.empty());
}

BOOST_AUTO_TEST_CASE(has_each_late_write_of_a_batch) {
    DraftShop shop;
    Guard lost = Shop::lock(shop.ann, "orders/1");
    const Guard mine = Shop::lock(shop.ann, "orders/2");
    BOOST_TEST_REQUIRE(shop.database->break_grant(lost.id(), "root", "test").has_value());
    BatchWrite batch;
    batch.writes = {order("1", "late", lost.proof()), order("2", "in time", mine.proof())};
    const auto late = shop.tables->batch_write(batch);
    BOOST_TEST_REQUIRE(outcome(late) == "stale_token");
    BOOST_TEST(late.error().drafts == 1U);
    BOOST_TEST_REQUIRE(shop.drafts_of("ann").size() == 1U);
    BOOST_TEST(draft_text(shop.drafts_of("ann")[0]) == "late");
    BOOST_TEST(text_of(shop, "2") == "none");
}

BOOST_AUTO_TEST_CASE(has_the_complete_request) {
    DraftShop shop;
    Guard lost = Shop::lock(shop.ann, "orders/1");
    BOOST_TEST_REQUIRE(shop.database->break_grant(lost.id(), "root", "test").has_value());
    WriteItem older;
    older.kind = WriteItem::Kind::update;
    older.table = "orders";
    older.item = AttributeMap{{"id", "1"}};
    older.expected_version = 0;
    older.expressions.attribute_updates = {
        {"text", AttributeUpdate::Action::put, AttributeValue("new")},
        {"tags", AttributeUpdate::Action::remove, std::nullopt}};
    older.expressions.expected = {
        {"a", AttributeValue("x"), std::nullopt, std::nullopt, std::nullopt},
        {"b", std::nullopt, false, std::nullopt, std::nullopt},
        {"c", std::nullopt, std::nullopt, ComparisonOperator::between,
         std::vector<AttributeValue>{"m", "n"}}};
    older.expressions.conditional_operator = ConditionalOperator::any;
    older.proof = lost.proof();
    BOOST_TEST_REQUIRE(outcome(shop.tables->write_item(older)) == "stale_token");
    WriteItem removal;
    removal.kind = WriteItem::Kind::remove;
    removal.table = "orders";
    removal.item = AttributeMap{{"id", "1"}};
    const auto kept = shop.drafts_of("ann").at(0).write;
    BOOST_TEST((kept.kind == WriteItem::Kind::update));
    BOOST_TEST((kept.expected_version == 0U));
    BOOST_TEST_REQUIRE(kept.expressions.attribute_updates->size() == 2U);
    BOOST_TEST(((*kept.expressions.attribute_updates)[0].value == AttributeValue("new")));
    BOOST_TEST(
        ((*kept.expressions.attribute_updates)[1].action == AttributeUpdate::Action::remove));
    BOOST_TEST(!(*kept.expressions.attribute_updates)[1].value.has_value());
    const auto& expected = *kept.expressions.expected;
    BOOST_TEST_REQUIRE(expected.size() == 3U);
    BOOST_TEST((expected[0].value == AttributeValue("x")));
    BOOST_TEST((expected[1].exists == false));
    BOOST_TEST((expected[2].comparison == ComparisonOperator::between));
    BOOST_TEST((*expected[2].values == std::vector<AttributeValue>{"m", "n"}));
    BOOST_TEST((kept.expressions.conditional_operator == ConditionalOperator::any));
    BOOST_TEST(!kept.expressions.update.has_value());
    // If several drafts have the same token and item, the last one is kept, whatever its kind.
    removal.proof = lost.proof();
    BOOST_TEST_REQUIRE(outcome(shop.tables->write_item(removal)) == "stale_token");
    BOOST_TEST_REQUIRE(shop.drafts_of("ann").size() == 1U);
    BOOST_TEST((shop.drafts_of("ann")[0].write.kind == WriteItem::Kind::remove));
}

// A draft of ann's, and a write of the same item under a new lock.
struct SavedAgain : DraftShop {
    SavedAgain() {
        Guard lost = Shop::lock(ann, "orders/1");
        BOOST_TEST_REQUIRE(database->break_grant(lost.id(), "root", "test").has_value());
        BOOST_TEST_REQUIRE(outcome(tables->write_item(order("1", "kept", lost.proof()))) ==
                           "stale_token");
        draft = drafts_of("ann").at(0);
        guard.emplace(Shop::lock(ann, "orders/1"));
    }
    WriteItem again() const {
        WriteItem write = draft.write;
        write.proof = guard->proof();
        write.from_draft = draft.id;
        return write;
    }

    Draft draft;
    std::optional<Guard> guard;
};

BOOST_FIXTURE_TEST_CASE(is_deleted_in_the_commit_that_saves_it, SavedAgain) {
    BOOST_TEST(outcome(tables->write_item(again())) == "done");
    BOOST_TEST(text_of(*this, "1") == "kept");
    BOOST_TEST(drafts_of("ann").empty());
    // The draft can be saved only once.
    WriteItem other = again();
    other.item.set("text", "other");
    BOOST_TEST(outcome(tables->write_item(other)) == "resource_not_found");
    BOOST_TEST(text_of(*this, "1") == "kept");
}

BOOST_FIXTURE_TEST_CASE(stays_if_it_is_not_saved, SavedAgain) {
    WriteItem refused = again();
    refused.expressions.condition = "attribute_exists(id)";
    BOOST_TEST(outcome(tables->write_item(refused)) == "condition_failed");
    WriteItem shown_by_nobody = again();
    BOOST_TEST_REQUIRE(tables->unbind_table("orders").has_value());
    shown_by_nobody.proof.reset();
    BOOST_TEST(outcome(tables->write_item(shown_by_nobody)) == "invalid_argument");
    BOOST_TEST(tables->begin_write(shown_by_nobody) == nullptr);
    bind("orders", "orders/{id}");
    // Bob's lock permits only his own drafts.
    const Guard bobs = Shop::lock(bob, "orders/2");
    WriteItem of_bob = order("2", "bob's", bobs.proof());
    of_bob.from_draft = draft.id;
    BOOST_TEST(outcome(tables->write_item(of_bob)) == "resource_not_found");
    BOOST_TEST(text_of(*this, "1") == "none");
    BOOST_TEST(text_of(*this, "2") == "none");
    // The lock is lost again, so the refused write becomes a draft, too.
    BOOST_TEST_REQUIRE(database->break_grant(guard->id(), "root", "test").has_value());
    const auto late = tables->write_item(again());
    BOOST_TEST(outcome(late) == "stale_token");
    BOOST_TEST(late.error().drafts == 1U);
    BOOST_TEST_REQUIRE(drafts_of("ann").size() == 2U);
    BOOST_TEST((drafts_of("ann")[0].id == draft.id));
}

BOOST_FIXTURE_TEST_CASE(is_not_saved_if_it_is_taken_at_the_same_time, SavedAgain,
                        *boost::unit_test::label("embedded")) {
    storage->meanwhile([&] { BOOST_TEST(outcome(tables->take_draft("ann", draft.id)) == "done"); });
    BOOST_TEST(outcome(tables->write_item(again())) == "resource_not_found");
    BOOST_TEST(text_of(*this, "1") == "none");
}

BOOST_FIXTURE_TEST_CASE(is_deleted_in_a_transaction_that_saves_it, SavedAgain) {
    Guard lost = Shop::lock(ann, "orders/2");
    BOOST_TEST_REQUIRE(database->break_grant(lost.id(), "root", "test").has_value());
    BOOST_TEST_REQUIRE(outcome(tables->write_item(order("2", "two", lost.proof()))) ==
                       "stale_token");
    const DraftId second = drafts_of("ann").at(1).id;
    const Guard both = Shop::lock(ann, "orders/2");
    TransactWrite request = all_of({again(), order("2", "two", both.proof())});
    request.from_drafts = {draft.id, second, draft.id};
    BOOST_TEST(outcome(tables->transact_write(request)) == "invalid_argument");
    request.from_drafts = {draft.id, DraftId{7}};
    BOOST_TEST(outcome(tables->transact_write(request)) == "resource_not_found");
    BOOST_TEST(drafts_of("ann").size() == 2U);
    BOOST_TEST(text_of(*this, "1") == "none");
    request.from_drafts = {draft.id, second};
    request.token = "once";
    BOOST_TEST(outcome(tables->transact_write(request)) == "done");
    BOOST_TEST(drafts_of("ann").empty());
    BOOST_TEST(text_of(*this, "2") == "two");
    // The identical request has already been executed.
    BOOST_TEST(outcome(tables->transact_write(request)) == "done");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
