// Copies of stores, the first opening of a copy, and the maintenance of store directories.
#include <rocklock/storage/maintenance.hpp>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <boost/test/unit_test.hpp>

#include <rocklock/database.hpp>
#include <rocklock/testing/faulty_storage.hpp>

#include "database/simulated_database.hpp"
#include "lock/manager/lock_manager.hpp"
#include "lock/records/records.hpp"
#include "support/temporary_directory.hpp"

namespace rocklock::testing {
namespace {

namespace fs = std::filesystem;

// Returns a store in which ann holds "a", and which is marked as a copy.
std::unique_ptr<FaultyStorage> marked_store(SimulatedClock& clock) {
    auto storage = std::make_unique<FaultyStorage>(clock);
    FaultyStorage& disk = *storage;
    Database database = Database::open_on(std::move(storage), simulated(clock)).value();
    Session session = database.open_session("ann").value();
    session.acquire("a").value().detach();
    auto copy = disk.reopen_after_kill();
    Batch batch;
    batch.writes.push_back(records::copy_mark(clock.now().wall));
    const auto committed = copy->commit(std::move(batch));
    BOOST_REQUIRE(committed.has_value());
    return copy;
}

bool is_marked(const Storage& storage) {
    return storage.get(Family::meta, records::copy_key).value().has_value();
}

// Creates a store on disk in which `count` locks are held.
void make_store(const std::string& path, int count) {
    Database database = Database::open(path).value();
    Session session = database.open_session("ann").value();
    for (int i = 0; i < count; ++i) session.acquire("a/" + std::to_string(i)).value().detach();
    session.detach();
    BOOST_REQUIRE(database.close().has_value());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(the_first_process_to_open_a_copy)

BOOST_AUTO_TEST_CASE(ends_its_sessions_and_removes_the_mark) {
    SimulatedClock clock;
    auto copy = marked_store(clock);
    FaultyStorage& disk = *copy;
    Database database = Database::open_on(std::move(copy), simulated(clock)).value();
    BOOST_TEST(database.list().value().locks.empty());
    const auto past = database.show("a").value().last_holder;
    BOOST_REQUIRE(past.has_value());
    BOOST_TEST((past->ending.outcome == Outcome::broken));
    BOOST_TEST(past->ending.reason == "restored");
    BOOST_TEST(!is_marked(disk));
}

BOOST_AUTO_TEST_CASE(is_the_only_process_to_do_so) {
    SimulatedClock clock;
    auto copy = marked_store(clock);
    FaultyStorage& disk = *copy;
    std::unique_ptr<FaultyStorage> later;
    {
        Database database = Database::open_on(std::move(copy), simulated(clock)).value();
        Session session = database.open_session("bob").value();
        session.acquire("a").value().detach();
        later = disk.reopen_after_kill();
    }
    Database database = Database::open_on(std::move(later), simulated(clock)).value();
    BOOST_TEST(database.list().value().locks.size() == 1U);
}

// If the first opening fails, either all of its changes are on disk, or none is and the mark is
// still there.
BOOST_AUTO_TEST_CASE(completes_it_or_leaves_it_to_the_next_call) {
    SimulatedClock clock;
    for (const auto call : {FaultyStorage::Call::write, FaultyStorage::Call::sync}) {
        const auto copy = marked_store(clock);
        copy->fail_nth(call, 1);
        LockManagerOptions options;
        options.background = false;
        BOOST_REQUIRE(!LockManager::open(*copy, clock, options).has_value());
        for (std::size_t bytes = 0; bytes <= copy->log().size(); ++bytes) {
            auto survived = copy->reopen_after_power_cut(bytes);
            FaultyStorage& disk = *survived;
            const bool done = !is_marked(disk);
            BOOST_TEST((!done || bytes == copy->log().size()));
            const Database database =
                Database::open_on(std::move(survived), simulated(clock)).value();
            BOOST_TEST(database.list().value().locks.empty());
            BOOST_TEST(database.show("a").value().last_holder.value().ending.reason == "restored");
            BOOST_TEST(!is_marked(disk));
        }
    }
}

// F7, S4: the tokens of a restored copy continue after those of the original store.
BOOST_AUTO_TEST_CASE(issues_tokens_greater_than_all_since_the_copy,
                     *boost::unit_test::label("embedded")) {
    SimulatedClock clock;
    auto copy = marked_store(clock);
    Token later{};
    {
        auto original = marked_store(clock);
        Database database = Database::open_on(std::move(original), simulated(clock)).value();
        Session session = database.open_session("ann").value();
        for (int i = 0; i < 70'000; ++i) later = session.acquire("b").value().token();
    }
    clock.advance(1min);
    Database database = Database::open_on(std::move(copy), simulated(clock)).value();
    Session session = database.open_session("bob").value();
    BOOST_TEST((session.acquire("a").value().token() > later));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_backup, *boost::unit_test::label("rocksdb"))

BOOST_AUTO_TEST_CASE(of_a_store_in_memory_is_refused) {
    Database database = Database::in_memory().value();
    BOOST_TEST(failure_of(database.backup("/nowhere")) == "invalid_argument");
    BOOST_TEST(database.open_session("ann").has_value());
}

BOOST_AUTO_TEST_CASE(contains_all_answered_changes_and_is_intact) {
    const TemporaryDirectory directory;
    Database database = Database::open(directory / "store").value();
    Session session = database.open_session("ann").value();
    session.acquire("a").value().detach();
    BOOST_REQUIRE(database.backup(directory / "backup").has_value());
    session.acquire("b").value().detach();
    const auto report = check_store(directory / "backup").value();
    BOOST_TEST(report.problems.empty());
    BOOST_TEST(report.facts.grants == 1U);
    BOOST_TEST(report.facts.copy);
    BOOST_TEST(failure_of(database.backup(directory / "backup")) == "invalid_argument");
    // The original store is not marked as a copy.
    BOOST_TEST(!inspect_store(directory / "store").value().copy);
}

BOOST_AUTO_TEST_CASE(that_fails_leaves_no_files_and_does_not_fail_the_store) {
    const TemporaryDirectory directory;
    Database database = Database::open(directory / "store").value();
    BOOST_TEST(failure_of(database.backup(directory / "no/such")) == "invalid_argument");
    std::ofstream(directory / "file") << "x";
    BOOST_TEST(failure_of(database.backup(directory / "file")) == "not_a_store");
    BOOST_TEST(database.open_session("ann").has_value());
    BOOST_TEST(!fs::exists(directory / "no"));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_store_as_a_directory, *boost::unit_test::label("rocksdb"))

BOOST_AUTO_TEST_CASE(is_counted_while_it_is_open_but_not_checked) {
    const TemporaryDirectory directory;
    Database database = Database::open(directory / "store").value();
    Session session = database.open_session("ann").value();
    session.acquire("a").value().detach();
    BOOST_TEST(inspect_store(directory / "store").value().grants == 1U);
    BOOST_TEST(failure_of(check_store(directory / "store")) == "store_in_use");
    BOOST_TEST(session.acquire("b").has_value());
}

BOOST_AUTO_TEST_CASE(is_not_created_by_a_query) {
    const TemporaryDirectory directory;
    BOOST_TEST(failure_of(inspect_store(directory / "store")) == "not_a_store");
    BOOST_TEST(failure_of(check_store(directory / "store")) == "not_a_store");
    BOOST_TEST(failure_of(restore_store(directory / "store", directory / "other")) ==
               "not_a_store");
    BOOST_TEST(fs::is_empty(directory.path()));
}

BOOST_AUTO_TEST_CASE(is_restored_only_into_an_empty_directory) {
    const TemporaryDirectory directory;
    make_store(directory / "store", 3);
    std::uint64_t last = 0;
    std::uint64_t of = 0;
    const auto progress = [&](std::uint64_t done, std::uint64_t whole) {
        BOOST_TEST(done > last);
        last = done;
        of = whole;
    };
    BOOST_REQUIRE(restore_store(directory / "store", directory / "new", progress).has_value());
    BOOST_TEST(last == of);
    BOOST_TEST(inspect_store(directory / "new").value().copy);
    BOOST_TEST(failure_of(restore_store(directory / "store", directory / "new")) ==
               "invalid_argument");
    Database database = Database::open(directory / "new").value();
    BOOST_TEST(database.list().value().locks.empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
