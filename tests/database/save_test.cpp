// A save that also releases or downgrades its lock, in one commit.
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/items/change_set.hpp>
#include <rocklock/testing/faulty_storage.hpp>

#include "database/orders.hpp"
#include "database/shop.hpp"

namespace rocklock::testing {
namespace {

TransactWrite save(std::vector<WriteItem> actions) {
    TransactWrite request;
    request.actions = std::move(actions);
    return request;
}

std::vector<std::string> holders_of(Database& database, std::string_view resource) {
    std::vector<std::string> names;
    const LockView view = database.show(resource).value();
    for (const Holder& holder : view.holders) {
        names.push_back(holder.principal + " " + std::string(to_string(holder.mode)));
    }
    return names;
}

// Returns the number of promised releases that have not been carried out.
std::size_t promises(Database& database) {
    std::size_t count = 0;
    const auto snapshot = database.storage().snapshot();
    const auto cursor = snapshot->scan(Family::meta, "after save ", "after save!");
    for (; cursor->valid(); cursor->next()) ++count;
    return count;
}

using Names = std::vector<std::string>;

// A shop on a disk that can be reopened as a kill at a given time would leave it.
struct Killed {
    Killed() {
        auto faulty = std::make_unique<FaultyStorage>(clock);
        disk = faulty.get();
        auto pausing = std::make_unique<PausingStorage>(std::move(faulty));
        storage = pausing.get();
        auto opened = Database::open_on(std::move(pausing), simulated(clock)).value();
        database.emplace(host.connect_to(std::move(opened), clock, false));
        tables = database->tables().value();
        create_orders(*tables);
        ann = database->open_session("ann").value();
    }
    // Keeps the store as it is after the commit of the item and before any other action.
    void kill_after_the_save() {
        storage->afterwards([&] { left = disk->reopen_after_kill(); });
    }
    Database reopen() { return Database::open_on(std::move(left), simulated(clock)).value(); }

    SimulatedClock clock;
    FaultyStorage* disk = nullptr;
    PausingStorage* storage = nullptr;
    std::unique_ptr<FaultyStorage> left;
    Hosted host;
    std::optional<Database> database;
    TableService* tables = nullptr;
    Session ann;
};

std::string text_in(Database& database, std::string id) {
    GetItem get;
    get.table = "orders";
    get.key = AttributeMap{{"id", std::move(id)}};
    const auto answer = database.tables().value()->get_item(get).value();
    return answer.item ? *answer.item->find("text")->get_if<std::string>() : "none";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(a_save_that_gives_up_its_lock)

BOOST_AUTO_TEST_CASE(saves_and_releases_or_downgrades) {
    Shop shop;
    shop.bind("orders", "orders/{id}");
    Guard guard = Shop::lock(shop.ann, "orders/1");
    BOOST_TEST(outcome(guard.save_and_release(*shop.tables, save({order("1", "ann's")}))) ==
               "done");
    BOOST_TEST(!guard);
    BOOST_TEST(text_of(shop, "1") == "ann's");
    BOOST_TEST(holders_of(*shop.database, "orders/1").empty());
    BOOST_TEST(promises(shop.host.manager(*shop.database)) == 0U);
    Guard next = Shop::lock(shop.bob, "orders/1");
    BOOST_TEST(outcome(next.save_and_downgrade(*shop.tables, save({order("1", "bob's")}))) ==
               "done");
    BOOST_TEST((holders_of(*shop.database, "orders/1") == Names{"bob read"}));
    BOOST_TEST((next.grant().locks.at(0).mode == Mode::read));
    BOOST_TEST(next.assert_held("orders/1", Mode::read).has_value());
    BOOST_TEST(!next.assert_held("orders/1", Mode::write));
    BOOST_TEST(outcome(shop.tables->write_item(order("1", "again", next.proof()))) ==
               "lock_required");
    BOOST_TEST(text_of(shop, "1") == "bob's");
    BOOST_TEST(promises(shop.host.manager(*shop.database)) == 0U);
}

BOOST_AUTO_TEST_CASE(names_the_writer) {
    Shop shop;
    Guard guard = Shop::lock(shop.ann, "orders/1");
    BOOST_TEST_REQUIRE(outcome(guard.save_and_release(*shop.tables, save({order("1", "ann's")}))) ==
                       "done");
    GetItem get;
    get.table = "orders";
    get.key = AttributeMap{{"id", "1"}};
    const auto written = shop.tables->get_item(get).value().last_write;
    BOOST_TEST_REQUIRE(written.has_value());
    BOOST_TEST(written->by == "ann");
}

BOOST_AUTO_TEST_CASE(keeps_the_lock_if_the_save_is_refused) {
    Shop shop;
    Guard guard = Shop::lock(shop.ann, "orders/1");
    WriteItem wrong = order("1", "ann's");
    wrong.expected_version = 7;
    BOOST_TEST(outcome(guard.save_and_release(*shop.tables, save({wrong}))) ==
               "transaction_cancelled");
    BOOST_TEST(bool(guard));
    BOOST_TEST(guard.valid());
    BOOST_TEST((holders_of(*shop.database, "orders/1") == Names{"ann write"}));
    BOOST_TEST(text_of(shop, "1") == "none");
    BOOST_TEST(promises(shop.host.manager(*shop.database)) == 0U);
}

BOOST_AUTO_TEST_CASE(changes_no_item_and_no_lock_after_the_lease,
                     *boost::unit_test::label("embedded")) {
    Shop shop;
    Guard guard = Shop::lock(shop.ann, "orders/1");
    shop.storage->meanwhile([&] {
        shop.sleep(11s);
        shop.bob = shop.database->open_session("bob", Shop::with_lease(10s)).value();
        Shop::lock(shop.bob, "orders/1").detach();
    });
    const auto saved = guard.save_and_release(*shop.tables, save({order("1", "late")}));
    BOOST_TEST_REQUIRE(outcome(saved) == "transaction_cancelled");
    BOOST_TEST((saved.error().reasons.at(0).code == ErrorCode::stale_token));
    BOOST_TEST(text_of(shop, "1") == "none");
    BOOST_TEST((holders_of(*shop.database, "orders/1") == Names{"bob write"}));
    BOOST_TEST(promises(shop.host.manager(*shop.database)) == 0U);
}

// A lock that was counted several times needs as many releases.
BOOST_AUTO_TEST_CASE(decrements_the_count_of_the_grant) {
    Shop shop;
    AcquireOptions counted;
    counted.held = Held::count;
    Guard outer = shop.ann.acquire("orders/1", counted).value();
    Guard inner = shop.ann.acquire("orders/1", counted).value();
    BOOST_TEST_REQUIRE(outcome(inner.save_and_release(*shop.tables, save({order("1", "inner")}))) ==
                       "done");
    BOOST_TEST(!inner);
    BOOST_TEST((holders_of(*shop.database, "orders/1") == Names{"ann write"}));
    BOOST_TEST(outer.valid());
    BOOST_TEST_REQUIRE(outcome(outer.save_and_release(*shop.tables, save({order("1", "outer")}))) ==
                       "done");
    BOOST_TEST(holders_of(*shop.database, "orders/1").empty());
    BOOST_TEST(text_of(shop, "1") == "outer");
}

BOOST_AUTO_TEST_CASE(may_be_a_single_write_or_a_change_set) {
    Shop shop;
    Guard guard = Shop::lock(shop.ann, "orders/1");
    WriteItem write = order("1", "one", guard.proof());
    write.after = AfterSave::downgrade;
    BOOST_TEST(outcome(shop.tables->write_item(write)) == "done");
    BOOST_TEST((holders_of(*shop.database, "orders/1") == Names{"ann read"}));
    BOOST_TEST(guard.valid());
    BOOST_TEST_REQUIRE(guard.convert(Mode::write).has_value());
    ChangeSet changes(*shop.tables, "somebody", guard.proof());
    BOOST_TEST_REQUIRE(changes.put("orders", {{"id", "1"}, {"text", "two"}}).has_value());
    BOOST_TEST(outcome(changes.commit(AfterSave::release)) == "done");
    BOOST_TEST(holders_of(*shop.database, "orders/1").empty());
    BOOST_TEST(!guard.valid());
    BOOST_TEST(text_of(shop, "1") == "two");
}

BOOST_AUTO_TEST_CASE(needs_a_lock) {
    Shop shop;
    WriteItem write = order("1", "one");
    write.after = AfterSave::release;
    const auto alone = shop.tables->write_item(write);
    BOOST_TEST_REQUIRE(outcome(alone) == "invalid_argument");
    TransactWrite together = save({order("1", "one")});
    together.after = AfterSave::downgrade;
    BOOST_TEST(outcome(shop.tables->transact_write(together)) == "invalid_argument");
    BOOST_TEST(text_of(shop, "1") == "none");
}

// If a save is decided twice, because another write came first, it promises its release once.
BOOST_AUTO_TEST_CASE(writes_one_record_although_it_is_decided_again,
                     *boost::unit_test::label("embedded")) {
    Shop shop;
    Guard guard = Shop::lock(shop.ann, "orders/1");
    shop.storage->meanwhile(
        [&] { BOOST_TEST(outcome(shop.tables->write_item(order("1", "between"))) == "done"); });
    BOOST_TEST(outcome(guard.save_and_release(*shop.tables, save({order("1", "ann's")}))) ==
               "done");
    BOOST_TEST(text_of(shop, "1") == "ann's");
    BOOST_TEST(holders_of(*shop.database, "orders/1").empty());
    BOOST_TEST(promises(shop.host.manager(*shop.database)) == 0U);
}

// The saved item and its lock agree after the crash (invariant D6).
BOOST_AUTO_TEST_CASE(has_released_it_even_if_the_process_is_killed_before,
                     *boost::unit_test::label("embedded")) {
    Killed shop;
    Guard guard = shop.ann.acquire("orders/1").value();
    shop.kill_after_the_save();
    BOOST_TEST_REQUIRE(outcome(guard.save_and_release(*shop.tables, save({order("1", "ann's")}))) ==
                       "done");
    BOOST_TEST_REQUIRE(shop.left != nullptr);
    Database after = shop.reopen();
    BOOST_TEST(text_in(after, "1") == "ann's");
    BOOST_TEST(holders_of(after, "orders/1").empty());
    BOOST_TEST(promises(after) == 0U);
    BOOST_TEST(after.sessions().value().size() == 1U);
}

// The saved item and the mode of its lock agree after the crash (invariant D6).
BOOST_AUTO_TEST_CASE(has_downgraded_it_even_if_the_process_is_killed_before,
                     *boost::unit_test::label("embedded")) {
    Killed shop;
    Guard guard = shop.ann.acquire("orders/1").value();
    shop.kill_after_the_save();
    BOOST_TEST_REQUIRE(
        outcome(guard.save_and_downgrade(*shop.tables, save({order("1", "ann's")}))) == "done");
    BOOST_TEST_REQUIRE(shop.left != nullptr);
    Database after = shop.reopen();
    BOOST_TEST(text_in(after, "1") == "ann's");
    BOOST_TEST((holders_of(after, "orders/1") == Names{"ann read"}));
    BOOST_TEST(promises(after) == 0U);
}

// An impossible downgrade is refused before anything is written.
BOOST_AUTO_TEST_CASE(is_refused_if_the_grant_cannot_be_downgraded) {
    Shop shop;
    LockClass counted;
    counted.pattern = "licences/*";
    counted.permits = 3;
    BOOST_TEST_REQUIRE(shop.database->put_class(counted).has_value());
    LockRequest licence;
    licence.resource = "licences/a";
    licence.permits = 1;
    Guard mixed = shop.ann.acquire({lock_of("orders/1"), licence}).value();
    WriteItem write = order("1", "ann's", mixed.proof());
    write.after = AfterSave::downgrade;
    BOOST_TEST(outcome(shop.tables->write_item(write)) == "invalid_argument");
    BOOST_TEST(text_of(shop, "1") == "none");
    BOOST_TEST(promises(shop.host.manager(*shop.database)) == 0U);
    write.after = AfterSave::release;
    BOOST_TEST(outcome(shop.tables->write_item(write)) == "done");
    BOOST_TEST(holders_of(*shop.database, "licences/a").empty());
}

BOOST_AUTO_TEST_CASE(is_refused_if_a_conversion_of_the_grant_waits) {
    Shop shop;
    Guard reader = Shop::lock(shop.bob, "orders/2", Mode::read);
    Guard guard = shop.ann.acquire({lock_of("orders/1"), lock_of("orders/2", Mode::read)}).value();
    Convert up;
    up.session = shop.ann.id();
    up.grant = guard.id();
    up.locks = {lock_of("orders/2", Mode::write)};
    up.patience = no_limit;
    LockService& service = shop.database->service();
    const Ticket waits = service.submit(Request(up), [](const Result<Answer>&) {});
    // Over a socket, requests for locks and for tables use different connections.
    const auto until_waiting = [&](std::uint64_t count) {
        const auto give_up = std::chrono::steady_clock::now() + 10s;
        while (shop.database->statistics().waiting != count) {
            BOOST_REQUIRE((std::chrono::steady_clock::now() < give_up));
        }
    };
    until_waiting(1);
    WriteItem write = order("1", "ann's", guard.proof());
    write.after = AfterSave::downgrade;
    BOOST_TEST(outcome(shop.tables->write_item(write)) == "invalid_argument");
    BOOST_TEST(promises(shop.host.manager(*shop.database)) == 0U);
    service.cancel(waits);
    until_waiting(0);
    BOOST_TEST(outcome(shop.tables->write_item(write)) == "done");
    BOOST_TEST((holders_of(*shop.database, "orders/1") == Names{"ann read"}));
}

// The process is killed after the release, before the promise is marked as kept.
BOOST_AUTO_TEST_CASE(is_not_counted_down_twice, *boost::unit_test::label("embedded")) {
    Killed shop;
    AcquireOptions counted;
    counted.held = Held::count;
    Guard outer = shop.ann.acquire("orders/1", counted).value();
    Guard inner = shop.ann.acquire("orders/1", counted).value();
    const std::string promised = "after save ";
    std::optional<Write> promise;
    shop.storage->afterwards([&] {
        const auto snapshot = shop.database->storage().snapshot();
        const auto cursor = snapshot->scan(Family::meta, promised, "after save!");
        BOOST_TEST_REQUIRE(cursor->valid());
        promise = Write{Family::meta, std::string(cursor->key()), std::string(cursor->value())};
    });
    BOOST_TEST_REQUIRE(outcome(inner.save_and_release(*shop.tables, save({order("1", "ann's")}))) ==
                       "done");
    BOOST_TEST_REQUIRE(promise.has_value());
    Batch again;
    again.writes.push_back(*promise);
    const auto committed = shop.database->storage().commit(std::move(again), Durability::durable);
    BOOST_TEST_REQUIRE(committed.has_value());
    shop.left = shop.disk->reopen_after_kill();
    Database after = shop.reopen();
    BOOST_TEST((holders_of(after, "orders/1") == Names{"ann write"}));
    BOOST_TEST(promises(after) == 0U);
}

// The process is killed, and the store is reopened after the lease has ended.
BOOST_AUTO_TEST_CASE(releases_no_lock_after_the_lease, *boost::unit_test::label("embedded")) {
    Killed shop;
    Guard guard = shop.ann.acquire("orders/1").value();
    shop.kill_after_the_save();
    BOOST_TEST_REQUIRE(outcome(guard.save_and_release(*shop.tables, save({order("1", "ann's")}))) ==
                       "done");
    shop.clock.advance(60s);
    Database after = shop.reopen();
    BOOST_TEST(text_in(after, "1") == "ann's");
    BOOST_TEST(holders_of(after, "orders/1").empty());
    BOOST_TEST(promises(after) == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
