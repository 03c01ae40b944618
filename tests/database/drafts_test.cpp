// Writes that came too late for their locks, and are kept as drafts.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/testing/faulty_storage.hpp>

#include "database/orders.hpp"
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
        return tables->list_drafts({principal}).value().drafts;
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

BOOST_AUTO_TEST_CASE(has_all_that_was_asked_for) {
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
    // Of one token and item the last is kept, whatever it is.
    removal.proof = lost.proof();
    BOOST_TEST_REQUIRE(outcome(shop.tables->write_item(removal)) == "stale_token");
    BOOST_TEST_REQUIRE(shop.drafts_of("ann").size() == 1U);
    BOOST_TEST((shop.drafts_of("ann")[0].write.kind == WriteItem::Kind::remove));
}

// A draft of ann's, and what she writes under a new lock on its item.
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

BOOST_FIXTURE_TEST_CASE(goes_in_the_commit_that_saves_it, SavedAgain) {
    BOOST_TEST(outcome(tables->write_item(again())) == "done");
    BOOST_TEST(text_of(*this, "1") == "kept");
    BOOST_TEST(drafts_of("ann").empty());
    // A second time there is nothing to be saved.
    WriteItem other = again();
    other.item.set("text", "other");
    BOOST_TEST(outcome(tables->write_item(other)) == "resource_not_found");
    BOOST_TEST(text_of(*this, "1") == "kept");
}

BOOST_FIXTURE_TEST_CASE(stays_where_it_is_not_saved, SavedAgain) {
    WriteItem refused = again();
    refused.expressions.condition = "attribute_exists(id)";
    BOOST_TEST(outcome(tables->write_item(refused)) == "condition_failed");
    WriteItem shown_by_nobody = again();
    BOOST_TEST_REQUIRE(tables->unbind_table("orders").has_value());
    shown_by_nobody.proof.reset();
    BOOST_TEST(outcome(tables->write_item(shown_by_nobody)) == "invalid_argument");
    BOOST_TEST(tables->begin_write(shown_by_nobody) == nullptr);
    bind("orders", "orders/{id}");
    // Bob's lock lets nobody's drafts be saved but his own.
    const Guard bobs = Shop::lock(bob, "orders/2");
    WriteItem of_bob = order("2", "bob's", bobs.proof());
    of_bob.from_draft = draft.id;
    BOOST_TEST(outcome(tables->write_item(of_bob)) == "resource_not_found");
    BOOST_TEST(text_of(*this, "1") == "none");
    BOOST_TEST(text_of(*this, "2") == "none");
    // The lock was lost again: what is refused now is a draft too.
    BOOST_TEST_REQUIRE(database->break_grant(guard->id(), "root", "test").has_value());
    const auto late = tables->write_item(again());
    BOOST_TEST(outcome(late) == "stale_token");
    BOOST_TEST(late.error().drafts == 1U);
    BOOST_TEST_REQUIRE(drafts_of("ann").size() == 2U);
    BOOST_TEST((drafts_of("ann")[0].id == draft.id));
}

BOOST_FIXTURE_TEST_CASE(is_saved_by_one_of_two, SavedAgain) {
    storage->meanwhile([&] { BOOST_TEST(outcome(tables->take_draft("ann", draft.id)) == "done"); });
    BOOST_TEST(outcome(tables->write_item(again())) == "resource_not_found");
    BOOST_TEST(text_of(*this, "1") == "none");
}

BOOST_FIXTURE_TEST_CASE(goes_with_a_transaction_that_saves_it, SavedAgain) {
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
    // The same once more is done already.
    BOOST_TEST(outcome(tables->transact_write(request)) == "done");
}

// ---- How many, and for how long ----

// Writes of `count` items under one lock on all orders, lost before the first of them.
void write_late(DraftShop& shop, std::uint32_t count) {
    LockRequest all = lock_of("orders", Mode::write);
    all.subtree = true;
    Guard lost = shop.ann.acquire({all}).value();
    BOOST_TEST_REQUIRE(shop.database->break_grant(lost.id(), "root", "test").has_value());
    for (std::uint32_t i = 0; i < count; ++i) {
        const auto late = shop.tables->write_item(
            order(std::to_string(i), "late " + std::to_string(i), lost.proof()));
        BOOST_TEST_REQUIRE(outcome(late) == "stale_token");
        BOOST_TEST_REQUIRE(late.error().drafts == 1U);
    }
}

// How many records there are with that beginning.
std::size_t records(DraftShop& shop, const std::string& first, const std::string& last) {
    std::size_t count = 0;
    const auto snapshot = shop.database->storage().snapshot();
    const auto cursor = snapshot->scan(Family::meta, first, last);
    for (; cursor->valid(); cursor->next()) ++count;
    return count;
}

BOOST_AUTO_TEST_CASE(gives_way_to_newer_ones_where_there_are_very_many) {
    DraftShop shop;
    write_late(shop, limits::drafts_per_principal + 3);
    const auto drafts = shop.drafts_of("ann");
    BOOST_TEST_REQUIRE(drafts.size() == limits::drafts_per_principal);
    BOOST_TEST(draft_text(drafts.front()) == "late 3");
    BOOST_TEST(draft_text(drafts.back()) == "late 1002");
    BOOST_TEST(records(shop, "draft ", "draft!") == limits::drafts_per_principal);
    BOOST_TEST(records(shop, "draft-of ", "draft-of!") == limits::drafts_per_principal);
    // One that takes the place of another drives out nobody.
    const LockProof again{shop.ann.id(), drafts.front().token};
    BOOST_TEST(outcome(shop.tables->write_item(order("500", "anew", again))) == "stale_token");
    const auto then = shop.drafts_of("ann");
    BOOST_TEST_REQUIRE(then.size() == limits::drafts_per_principal);
    BOOST_TEST(draft_text(then.front()) == "late 3");
    BOOST_TEST(draft_text(then.back()) == "anew");
}

// Two of one principal that are kept at once are counted one after the other.
BOOST_AUTO_TEST_CASE(is_counted_with_one_that_is_kept_at_once) {
    DraftShop shop;
    write_late(shop, limits::drafts_per_principal);
    const LockProof lost{shop.ann.id(), shop.drafts_of("ann").front().token};
    shop.storage->meanwhile(
        [&] {
            BOOST_TEST(outcome(shop.tables->write_item(order("first", "first", lost))) ==
                       "stale_token");
        },
        Family::meta);
    const auto late = shop.tables->write_item(order("second", "second", lost));
    BOOST_TEST(outcome(late) == "stale_token");
    const auto drafts = shop.drafts_of("ann");
    BOOST_TEST_REQUIRE(drafts.size() == limits::drafts_per_principal);
    BOOST_TEST(draft_text(drafts.front()) == "late 2");
    BOOST_TEST(draft_text(drafts[drafts.size() - 2]) == "first");
    BOOST_TEST(draft_text(drafts.back()) == "second");
    BOOST_TEST(records(shop, "draft ", "draft!") == limits::drafts_per_principal);
    BOOST_TEST(records(shop, "draft-of ", "draft-of!") == limits::drafts_per_principal);
}

BOOST_AUTO_TEST_CASE(is_listed_in_pages) {
    DraftShop shop;
    write_late(shop, 5);
    DraftsRequest request{"ann", 2, {}};
    std::string told;
    std::size_t pages = 0;
    do {
        const auto page = shop.tables->list_drafts(request).value();
        BOOST_TEST(page.drafts.size() <= 2U);
        for (const Draft& draft : page.drafts) told += draft_text(draft) + ";";
        request.next = page.next;
        ++pages;
        // The next page may begin with one that has gone.
        if (pages == 1) {
            BOOST_TEST(outcome(shop.tables->discard_draft("ann", page.next)) == "done");
        }
    } while (number(request.next) != 0);
    BOOST_TEST(told == "late 0;late 1;late 3;late 4;");
    BOOST_TEST(pages == 2U);
    for (const std::uint32_t limit : {0U, limits::drafts_per_principal + 1}) {
        BOOST_TEST(outcome(shop.tables->list_drafts({"ann", limit, {}})) == "invalid_argument");
    }
    using namespace std::string_literals;
    BOOST_TEST(shop.tables->list_drafts({"ann\0"s}).value().drafts.empty());
}

BOOST_AUTO_TEST_CASE(that_is_large_makes_its_page_short) {
    DraftShop shop;
    LockRequest all = lock_of("orders", Mode::write);
    all.subtree = true;
    Guard lost = shop.ann.acquire({all}).value();
    BOOST_TEST_REQUIRE(shop.database->break_grant(lost.id(), "root", "test").has_value());
    for (const auto* id : {"1", "2", "3", "4"}) {
        BOOST_TEST_REQUIRE(outcome(shop.tables->write_item(order(id, std::string(390'000, 'x'),
                                                                 lost.proof()))) == "stale_token");
    }
    const auto first = shop.tables->list_drafts({"ann"}).value();
    BOOST_TEST(first.drafts.size() == 3U);
    const auto second = shop.tables->list_drafts({"ann", 1000, first.next}).value();
    BOOST_TEST(second.drafts.size() == 1U);
    BOOST_TEST(number(second.next) == 0U);
}

// An item of that size there cannot be.
BOOST_AUTO_TEST_CASE(is_not_kept_of_what_is_too_large) {
    DraftShop shop;
    Guard lost = Shop::lock(shop.ann, "orders/1");
    BOOST_TEST_REQUIRE(shop.database->break_grant(lost.id(), "root", "test").has_value());
    WriteItem update;
    update.kind = WriteItem::Kind::update;
    update.table = "orders";
    update.item = AttributeMap{{"id", "1"}};
    update.expressions.update = "SET text_ = :new";
    auto& values = update.expressions.placeholders.values.emplace();
    values.push_back({":new", std::string(600'000, 'x')});
    update.proof = lost.proof();
    const auto late = shop.tables->write_item(update);
    BOOST_TEST_REQUIRE(outcome(late) == "stale_token");
    BOOST_TEST(late.error().drafts == 0U);
    BOOST_TEST(shop.drafts_of("ann").empty());
    values[0].value = std::string(300'000, 'x');
    BOOST_TEST(shop.tables->write_item(update).error().drafts == 1U);
}

// Which drafts go with a transaction is a part of it.
BOOST_AUTO_TEST_CASE(belongs_to_the_request_with_its_token) {
    DraftShop shop;
    Guard lost = Shop::lock(shop.ann, "orders/1");
    BOOST_TEST_REQUIRE(shop.database->break_grant(lost.id(), "root", "test").has_value());
    BOOST_TEST_REQUIRE(outcome(shop.tables->write_item(order("1", "one", lost.proof()))) ==
                       "stale_token");
    const Guard again = Shop::lock(shop.ann, "orders/1");
    TransactWrite save = all_of({order("1", "two", again.proof())});
    save.token = "once";
    BOOST_TEST(outcome(shop.tables->transact_write(save)) == "done");
    BOOST_TEST(outcome(shop.tables->transact_write(save)) == "done");
    save.from_drafts = {shop.drafts_of("ann").at(0).id};
    BOOST_TEST(outcome(shop.tables->transact_write(save)) == "parameter_mismatch");
}

BOOST_AUTO_TEST_CASE(is_thrown_away_after_thirty_days) {
    DraftShop shop;
    write_late(shop, 60);
    shop.sleep(std::chrono::hours(24));
    shop.ann = shop.database->open_session("ann", Shop::with_lease(10s)).value();
    Guard lost = Shop::lock(shop.ann, "orders/x");
    BOOST_TEST_REQUIRE(shop.database->break_grant(lost.id(), "root", "test").has_value());
    BOOST_TEST_REQUIRE(outcome(shop.tables->write_item(order("x", "younger", lost.proof()))) ==
                       "stale_token");
    shop.sleep(limits::draft_age - std::chrono::hours(24) - 1ms);
    BOOST_TEST(shop.drafts_of("ann").size() == 61U);
    const DraftId oldest = shop.drafts_of("ann").front().id;
    shop.sleep(1ms);
    // None is told of any more, and soon none is there.
    BOOST_TEST(shop.drafts_of("ann").size() == 1U);
    BOOST_TEST(outcome(shop.tables->take_draft("ann", oldest)) == "resource_not_found");
    BOOST_TEST(records(shop, "draft ", "draft!") == 61U);
    // A step is short.
    SweepExpired step;
    step.max_items = 30;
    BOOST_TEST(shop.tables->sweep_expired(step).value().next.count() == 0);
    BOOST_TEST(records(shop, "draft ", "draft!") == 31U);
    while (shop.tables->sweep_expired(step).value().next.count() == 0) continue;
    BOOST_TEST(records(shop, "draft ", "draft!") == 1U);
    BOOST_TEST(records(shop, "draft-of ", "draft-of!") == 1U);
    BOOST_TEST(records(shop, "drafts ", "drafts!") == 1U);
    BOOST_TEST(draft_text(shop.drafts_of("ann").at(0)) == "younger");
    // Nothing is left of who has none.
    shop.sleep(std::chrono::hours(24));
    while (shop.tables->sweep_expired({}).value().next.count() == 0) continue;
    BOOST_TEST(records(shop, "draft", "drafu") == 0U);
}

// ---- Crashes ----

// A disk with a draft of ann's, and her new lock on its item.
struct OnDisk {
    OnDisk() {
        auto faulty = std::make_unique<FaultyStorage>(clock);
        disk = faulty.get();
        database.emplace(Database::open_on(std::move(faulty), simulated(clock)).value());
        tables = database->tables().value();
        create_orders(*tables);
        bind_orders(*tables);
        LockClass kept;
        kept.pattern = "orders/*";
        kept.drafts = true;
        BOOST_TEST_REQUIRE(database->put_class(kept).has_value());
        ann = database->open_session("ann").value();
        Guard lost = ann.acquire("orders/1").value();
        BOOST_TEST_REQUIRE(database->break_grant(lost.id(), "root", "test").has_value());
        BOOST_TEST_REQUIRE(outcome(tables->write_item(order("1", "kept", lost.proof()))) ==
                           "stale_token");
        guard.emplace(ann.acquire("orders/1").value());
    }
    WriteItem again() const {
        const Draft draft = tables->list_drafts({"ann"}).value().drafts.at(0);
        WriteItem write = draft.write;
        write.proof = guard->proof();
        write.from_draft = draft.id;
        return write;
    }

    SimulatedClock clock;
    FaultyStorage* disk = nullptr;
    std::optional<Database> database;
    TableService* tables = nullptr;
    Session ann;
    std::optional<Guard> guard;
};

enum class Left : std::uint8_t { draft, item };

// Which of both is on the disk: never both, never none.
Left left_on(std::unique_ptr<FaultyStorage> disk, Clock& clock) {
    Database after = Database::open_on(std::move(disk), simulated(clock)).value();
    TableService& tables = *after.tables().value();
    GetItem get;
    get.table = "orders";
    get.key = AttributeMap{{"id", "1"}};
    const bool is_saved = tables.get_item(get).value().item.has_value();
    const bool is_kept = !tables.list_drafts({"ann"}).value().drafts.empty();
    BOOST_TEST(is_saved != is_kept);
    return is_saved ? Left::item : Left::draft;
}

BOOST_AUTO_TEST_CASE(and_its_save_are_one_commit) {
    using Call = FaultyStorage::Call;
    for (const Call fails : {Call::enqueue, Call::write, Call::sync}) {
        OnDisk store;
        const WriteItem again = store.again();
        store.disk->fail_nth(fails, 1);
        BOOST_TEST(outcome(store.tables->write_item(again)) == "io_error");
        // What failed later may be there nevertheless, as a whole.
        const Left found = left_on(store.disk->reopen_after_kill(), store.clock);
        if (fails == Call::enqueue) BOOST_TEST((found == Left::draft));
        for (std::size_t bytes = 0; bytes <= store.disk->log().size(); ++bytes) {
            left_on(store.disk->reopen_after_power_cut(bytes), store.clock);
        }
    }
    OnDisk store;
    const auto draft = store.again();
    // Before the commit, and behind it.
    BOOST_TEST((left_on(store.disk->reopen_after_power_cut(), store.clock) == Left::draft));
    BOOST_TEST(outcome(store.tables->write_item(draft)) == "done");
    BOOST_TEST((left_on(store.disk->reopen_after_power_cut(), store.clock) == Left::item));
}

// Once the refusal is told, the draft is there whatever happens; and the class that keeps drafts.
BOOST_AUTO_TEST_CASE(outlives_a_kill) {
    SimulatedClock clock;
    auto faulty = std::make_unique<FaultyStorage>(clock);
    FaultyStorage& disk = *faulty;
    Database database = Database::open_on(std::move(faulty), simulated(clock)).value();
    TableService& tables = *database.tables().value();
    create_orders(tables);
    bind_orders(tables);
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
    const auto drafts = after.tables().value()->list_drafts({"ann"}).value().drafts;
    BOOST_TEST_REQUIRE(drafts.size() == 1U);
    BOOST_TEST(draft_text(drafts[0]) == "ann's");
    BOOST_TEST(after.classes().at(0).drafts);
    // A late write is kept now as it was before.
    const auto late = after.tables().value()->write_item(order("1", "once more", loser.proof()));
    BOOST_TEST(outcome(late) == "stale_token");
    const auto then = after.tables().value()->list_drafts({"ann"}).value().drafts;
    BOOST_TEST_REQUIRE(then.size() == 1U);
    BOOST_TEST(draft_text(then[0]) == "once more");
    BOOST_TEST(number(then[0].id) > number(drafts[0].id));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
