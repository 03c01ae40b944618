// The limits of drafts in number and time, and their state after a crash.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <boost/test/unit_test.hpp>

#include "database/drafts/draft_shop.hpp"

namespace rocklock::testing {

using namespace drafts;

BOOST_AUTO_TEST_SUITE(a_draft)

// ---- Limits ----

// Writes `count` items after the lock of all orders was lost.
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

// Returns the number of records between the two keys.
std::size_t records(DraftShop& shop, const std::string& first, const std::string& last) {
    std::size_t count = 0;
    const auto snapshot = shop.host.manager(*shop.database).storage().snapshot();
    const auto cursor = snapshot->scan(Family::meta, first, last);
    for (; cursor->valid(); cursor->next()) ++count;
    return count;
}

BOOST_AUTO_TEST_CASE(is_replaced_by_newer_ones_beyond_the_limit) {
    DraftShop shop;
    write_late(shop, limits::drafts_per_principal + 3);
    const auto drafts = shop.drafts_of("ann");
    BOOST_TEST_REQUIRE(drafts.size() == limits::drafts_per_principal);
    BOOST_TEST(draft_text(drafts.front()) == "late 3");
    BOOST_TEST(draft_text(drafts.back()) == "late 1002");
    BOOST_TEST(records(shop, "draft ", "draft!") == limits::drafts_per_principal);
    BOOST_TEST(records(shop, "draft-of ", "draft-of!") == limits::drafts_per_principal);
    // A draft that replaces another one does not evict a third.
    const LockProof again{shop.ann.id(), drafts.front().token};
    BOOST_TEST(outcome(shop.tables->write_item(order("500", "anew", again))) == "stale_token");
    const auto then = shop.drafts_of("ann");
    BOOST_TEST_REQUIRE(then.size() == limits::drafts_per_principal);
    BOOST_TEST(draft_text(then.front()) == "late 3");
    BOOST_TEST(draft_text(then.back()) == "anew");
}

// If two drafts of one principal are kept at the same time, the counter includes both.
BOOST_AUTO_TEST_CASE(is_counted_together_with_a_concurrent_draft,
                     *boost::unit_test::label("embedded")) {
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
    std::string texts;
    std::size_t pages = 0;
    do {
        const auto page = shop.tables->list_drafts(request).value();
        BOOST_TEST(page.drafts.size() <= 2U);
        for (const Draft& draft : page.drafts) texts += draft_text(draft) + ";";
        request.next = page.next;
        ++pages;
        // The cursor of the next page may point to a draft that was removed meanwhile.
        if (pages == 1) {
            BOOST_TEST(outcome(shop.tables->discard_draft("ann", page.next)) == "done");
        }
    } while (number(request.next) != 0);
    BOOST_TEST(texts == "late 0;late 1;late 3;late 4;");
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

// An item cannot have this size.
BOOST_AUTO_TEST_CASE(is_not_kept_if_the_write_is_too_large) {
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

// The drafts that a transaction saves are a part of its request.
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

BOOST_AUTO_TEST_CASE(is_deleted_after_thirty_days, *boost::unit_test::label("embedded")) {
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
    // Expired drafts are not listed, and the sweep soon deletes them.
    BOOST_TEST(shop.drafts_of("ann").size() == 1U);
    BOOST_TEST(outcome(shop.tables->take_draft("ann", oldest)) == "resource_not_found");
    BOOST_TEST(records(shop, "draft ", "draft!") == 61U);
    // One step removes a limited number of drafts.
    SweepExpired step;
    step.max_items = 30;
    BOOST_TEST(shop.tables->sweep_expired(step).value().next.count() == 0);
    BOOST_TEST(records(shop, "draft ", "draft!") == 31U);
    while (shop.tables->sweep_expired(step).value().next.count() == 0) continue;
    BOOST_TEST(records(shop, "draft ", "draft!") == 1U);
    BOOST_TEST(records(shop, "draft-of ", "draft-of!") == 1U);
    BOOST_TEST(records(shop, "drafts ", "drafts!") == 1U);
    BOOST_TEST(draft_text(shop.drafts_of("ann").at(0)) == "younger");
    // If a principal has no drafts, the sweep also deletes its counter.
    shop.sleep(std::chrono::hours(24));
    while (shop.tables->sweep_expired({}).value().next.count() == 0) continue;
    BOOST_TEST(records(shop, "draft", "drafu") == 0U);
}

// ---- Crashes ----

// A store on disk with a draft of ann's, and her new lock on its item.
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

// Returns which of the two is on disk. The test fails if it is both or neither.
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
        // A commit that failed late may be on disk nevertheless, but only as a whole.
        const Left found = left_on(store.disk->reopen_after_kill(), store.clock);
        if (fails == Call::enqueue) BOOST_TEST((found == Left::draft));
        for (std::size_t bytes = 0; bytes <= store.disk->log().size(); ++bytes) {
            left_on(store.disk->reopen_after_power_cut(bytes), store.clock);
        }
    }
    OnDisk store;
    const auto draft = store.again();
    // Before and after the commit.
    BOOST_TEST((left_on(store.disk->reopen_after_power_cut(), store.clock) == Left::draft));
    BOOST_TEST(outcome(store.tables->write_item(draft)) == "done");
    BOOST_TEST((left_on(store.disk->reopen_after_power_cut(), store.clock) == Left::item));
}

// After the refusal was returned, the draft and the class that keeps drafts survive a kill.
BOOST_AUTO_TEST_CASE(outlives_a_kill, *boost::unit_test::label("embedded")) {
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
    // A late write is kept as a draft, as before the kill.
    const auto late = after.tables().value()->write_item(order("1", "once more", loser.proof()));
    BOOST_TEST(outcome(late) == "stale_token");
    const auto then = after.tables().value()->list_drafts({"ann"}).value().drafts;
    BOOST_TEST_REQUIRE(then.size() == 1U);
    BOOST_TEST(draft_text(then[0]) == "once more");
    BOOST_TEST(number(then[0].id) > number(drafts[0].id));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
