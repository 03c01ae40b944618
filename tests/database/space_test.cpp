// A database on a disk that is almost full: what is refused, and what continues.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/database.hpp>
#include <rocklock/items/table.hpp>

#include "database/orders.hpp"
#include "database/shop.hpp"
#include "support/temporary_directory.hpp"

namespace rocklock::testing {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr std::uint64_t mb = 1U << 20;

// A database with a reserve of 16 MB, of which the file occupies its real space. The rest of the
// free space is simulated.
struct OnAlmostFullDisk {
    static DatabaseOptions options_on(std::atomic<std::uint64_t>& free) {
        DatabaseOptions options;
        options.rocksdb.reserve_bytes = 16 * mb;
        options.rocksdb.file_system_space = [&free]() -> std::optional<FileSystemSpace> {
            return FileSystemSpace{1024 * mb, free.load()};
        };
        return options;
    }

    // Returns after the database has detected the new space, for which it must write.
    void set_free(std::uint64_t bytes) {
        free = bytes;
        const bool grows = bytes >= 16 * mb;
        const auto deadline = steady_clock::now() + 60s;
        while (database.storage().accepts_growth() != grows && steady_clock::now() < deadline) {
            if (!grows) BOOST_TEST_REQUIRE(ann.renew().has_value());
            std::this_thread::sleep_for(5ms);
        }
        BOOST_TEST_REQUIRE(database.storage().accepts_growth() == grows);
    }

    const TemporaryDirectory directory;
    std::atomic<std::uint64_t> free{500 * mb};
    Database database = Database::open(directory / "store", options_on(free)).value();
    Session ann = database.open_session("ann").value();
};

template <typename T>
bool lacks_space(const Result<T>& result) {
    return !result && result.error().code == ErrorCode::no_space &&
           result.error().message.find("reserve-bytes") != std::string::npos;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(an_almost_full_disk, OnAlmostFullDisk,
                         *boost::unit_test::label("rocksdb") * boost::unit_test::label("embedded"))

BOOST_AUTO_TEST_CASE(refuses_grants_and_lets_a_thousand_locks_be_renewed_listed_and_released) {
    std::vector<Guard> guards;
    for (int i = 0; i < 1000; ++i) {
        guards.push_back(ann.acquire("r" + std::to_string(i)).value());
    }
    set_free(5 * mb);
    BOOST_TEST(lacks_space(ann.acquire("new")));
    BOOST_TEST(lacks_space(database.open_session("bob")));
    BOOST_TEST(ann.renew().has_value());
    std::size_t listed = 0;
    ListLocks list;
    do {
        const auto page = database.list(list).value();
        listed += page.locks.size();
        list.next = page.next;
    } while (!list.next.empty());
    BOOST_TEST(listed == 1000U);
    BOOST_TEST(database.break_grant(guards.back().id(), "root", "test").has_value());
    guards.pop_back();
    for (auto& guard : guards) BOOST_TEST_REQUIRE(guard.release().has_value());
    BOOST_TEST(database.list().value().locks.empty());
    BOOST_TEST(lacks_space(ann.acquire("new")));

    const auto began = steady_clock::now();
    set_free(500 * mb);
    BOOST_TEST(ann.acquire("new").has_value());
    BOOST_TEST((steady_clock::now() - began < 1s));
    BOOST_TEST(!database.storage().failure().has_value());
}

BOOST_AUTO_TEST_CASE(answers_repeated_requests_and_serves_waiters) {
    Session bob = database.open_session("bob").value();
    Guard held = ann.acquire("a").value();
    AcquireOptions patient;
    patient.patience = 60s;
    std::atomic<bool> granted{false};
    bob.async_acquire({lock_of("a")}, patient,
                      [&](const Result<Guard>& guard) { granted = guard.has_value(); });
    Acquire request;
    request.session = ann.id();
    request.locks = {lock_of("b")};
    request.request_id = "once";
    const auto first = database.service().ask(request).value();
    set_free(5 * mb);
    BOOST_TEST((database.service().ask(request).value().id == first.id));
    // The number of waiters is limited, and each had been accepted.
    BOOST_TEST(held.release().has_value());
    for (int i = 0; i < 6000 && !granted; ++i) std::this_thread::sleep_for(10ms);
    BOOST_TEST(granted.load());
    BOOST_TEST(bob.close().has_value());
}

BOOST_AUTO_TEST_CASE(converts_but_neither_steals_nor_changes_classes) {
    LockClass anyone;
    anyone.pattern = "s";
    anyone.steal = StealPolicy::anyone;
    BOOST_TEST_REQUIRE(database.put_class(anyone).has_value());
    Session bob = database.open_session("bob").value();
    const Guard held = ann.acquire("s").value();
    Guard shared = ann.acquire({lock_of("t", Mode::read)}).value();
    set_free(5 * mb);
    Steal steal;
    steal.session = bob.id();
    steal.grant = held.id();
    steal.reason = "test";
    BOOST_TEST(lacks_space(database.service().ask(steal)));
    BOOST_TEST(lacks_space(database.put_class(anyone)));
    BOOST_TEST(shared.convert(Mode::write).has_value());
    BOOST_TEST(database.delete_class("s").has_value());
}

BOOST_AUTO_TEST_CASE(refuses_writes_of_items_and_drafts_and_deletes_items) {
    TableService& tables = *database.tables().value();
    create_orders(tables);
    LockClass kept;
    kept.pattern = "orders/*";
    kept.drafts = true;
    BOOST_TEST_REQUIRE(database.put_class(kept).has_value());
    BOOST_TEST_REQUIRE(tables.write_item(order("1", "one")).has_value());
    BOOST_TEST_REQUIRE(tables.write_item(order("2", "two")).has_value());
    bind_orders(tables);
    const Guard lost = ann.acquire("orders/1").value();
    const Guard held = ann.acquire("orders/2").value();
    BOOST_TEST_REQUIRE(database.break_grant(lost.id(), "root", "test").has_value());
    set_free(5 * mb);
    BOOST_TEST(lacks_space(tables.write_item(order("2", "changed", held.proof()))));
    BatchWrite batch;
    batch.writes = {order("2", "changed", held.proof())};
    BOOST_TEST(lacks_space(tables.batch_write(batch)));
    TransactWrite transaction;
    transaction.actions = {order("2", "changed", held.proof())};
    BOOST_TEST(lacks_space(tables.transact_write(transaction)));
    CreateTable another = orders_table();
    another.table = "another";
    BOOST_TEST(lacks_space(tables.create_table(another)));
    // A late write is refused as such, and is not kept.
    const auto late = tables.write_item(order("1", "late", lost.proof()));
    BOOST_TEST((late.error().code == ErrorCode::stale_token));
    BOOST_TEST(late.error().message.find("it was not kept as a draft: the disk is almost full") !=
                   std::string::npos,
               late.error().message);
    BOOST_TEST(tables.draft_count() == 0U);
    WriteItem removal = order("2", "", held.proof());
    removal.kind = WriteItem::Kind::remove;
    removal.item = AttributeMap{{"id", "2"}};
    removal.after = AfterSave::release;
    BOOST_TEST(tables.write_item(removal).has_value());
    BOOST_TEST(database.list().value().locks.empty());
    set_free(500 * mb);
    const Guard again = ann.acquire("orders/1").value();
    BOOST_TEST(tables.write_item(order("1", "changed", again.proof())).has_value());
}

BOOST_AUTO_TEST_CASE(is_detected_when_the_store_is_opened) {
    set_free(5 * mb);
    ann.detach();
    BOOST_TEST_REQUIRE(database.close().has_value());
    // A closed store remains locked until the object is destroyed.
    database = Database::in_memory().value();
    const auto reserve = directory / "store/RESERVE";
    BOOST_TEST(std::filesystem::exists(reserve));
    database = Database::open(directory / "store", options_on(free)).value();
    BOOST_TEST(lacks_space(database.open_session("bob")));
    database.storage().set_reserve_bytes(0);
    BOOST_TEST(!std::filesystem::exists(reserve));
    BOOST_TEST(database.open_session("bob").has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
