// Opening, closing and moving a database, and access from other processes.
#include <rocklock/database.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include <boost/test/unit_test.hpp>

#include <rocklock/testing/faulty_storage.hpp>

#include "base/bytes.hpp"
#include "database/simulated_database.hpp"
#include "support/abilities.hpp"
#include "support/in_child.hpp"
#include "support/temporary_directory.hpp"

namespace rocklock::testing {

namespace {

namespace fs = std::filesystem;

struct OnDisk {
    TemporaryDirectory directory;
    SimulatedClock clock;
    const std::string path = directory / "store";

    Result<Database> open() { return Database::open(path, simulated(clock)); }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(a_database, SimulatedDatabase)

BOOST_AUTO_TEST_CASE(in_memory_is_independent_of_others) {
    Database other = Database::in_memory(simulated(clock)).value();
    Session ann = database.open_session("ann").value();
    Session bob = other.open_session("bob").value();
    const Guard first = ann.acquire("a").value();
    BOOST_TEST(bob.acquire("a").has_value());
}

BOOST_AUTO_TEST_CASE(works_on_a_storage_of_the_caller) {
    Database on = Database::open_on(make_memory_storage(clock), simulated(clock)).value();
    Session session = on.open_session("ann").value();
    BOOST_TEST(session.acquire("a").has_value());
    BOOST_TEST(on.storage().failure().has_value() == false);
}

BOOST_AUTO_TEST_CASE(continues_after_a_move) {
    Database moved = Database::in_memory(simulated(clock)).value();
    Session session = database.open_session("ann").value();
    const Guard guard = session.acquire("a").value();
    moved = std::move(database);
    testing::pass(moved, clock, 10min);
    BOOST_TEST(guard.valid());
    BOOST_TEST(moved.list().value().locks.size() == 1U);
}

BOOST_AUTO_TEST_CASE(is_closed_when_another_is_moved_in) {
    Session session = database.open_session("ann").value();
    session.acquire("a").value().detach();
    session.detach();
    database = Database::in_memory(simulated(clock)).value();
    BOOST_TEST(database.sessions().value().empty());
    BOOST_TEST(database.list().value().locks.empty());
}

BOOST_AUTO_TEST_CASE(that_was_moved_from_reports_it) {
    const Database taken = std::move(database);
    // Using the moved-from object is intended.
    Database& moved = database;
    BOOST_TEST(failure_of(moved.open_session("ann")) == "invalid_argument");
    BOOST_TEST(failure_of(moved.resume_session({})) == "invalid_argument");
    BOOST_TEST(failure_of(moved.put_class({})) == "invalid_argument");
    BOOST_TEST(failure_of(moved.delete_class("a")) == "invalid_argument");
    BOOST_TEST(failure_of(moved.show("a")) == "invalid_argument");
    BOOST_TEST(failure_of(moved.list()) == "invalid_argument");
    BOOST_TEST(failure_of(moved.sessions()) == "invalid_argument");
    BOOST_TEST(failure_of(moved.break_grant({}, "root", "test")) == "invalid_argument");
    BOOST_TEST(failure_of(moved.bind_table({})) == "invalid_argument");
    BOOST_TEST(failure_of(moved.unbind_table("a")) == "invalid_argument");
    BOOST_TEST(failure_of(moved.bindings()) == "invalid_argument");
    BOOST_TEST(failure_of(moved.close()) == "invalid_argument");
    BOOST_TEST(moved.classes().empty());
    BOOST_TEST(moved.statistics().granted == 0U);
    BOOST_TEST(!moved.tick().has_value());
}

BOOST_AUTO_TEST_CASE(that_is_closed_fails_every_call_with_closing) {
    Session ann = database.open_session("ann").value();
    Session bob = database.open_session("bob").value();
    Guard guard = ann.acquire("a").value();
    std::vector<std::string> answers;
    const auto note = [&](const Result<Guard>& answer) { answers.push_back(failure_of(answer)); };
    AcquireOptions patient;
    patient.patience = 1h;
    bob.async_acquire({lock_of("a")}, patient, note);
    database.close().value();
    BOOST_TEST((answers == std::vector<std::string>{"closing"}));
    BOOST_TEST(failure_of(ann.acquire("b")) == "closing");
    BOOST_TEST(failure_of(ann.renew()) == "closing");
    BOOST_TEST(failure_of(guard.release()) == "closing");
    BOOST_TEST(failure_of(database.open_session("cleo")) == "closing");
    BOOST_TEST(failure_of(ann.close()) == "closing");
    bob.async_acquire({lock_of("b")}, {}, note);
    BOOST_TEST((answers == std::vector<std::string>{"closing", "closing"}));
    BOOST_TEST(failure_of(database.close()) == "");
}

BOOST_AUTO_TEST_CASE(notifies_each_waiter_once_that_it_closes) {
    Session ann = database.open_session("ann").value();
    const Guard guard = ann.acquire("a").value();
    int answers = 0;
    AcquireOptions patient;
    patient.patience = no_limit;
    for (int i = 0; i < 10; ++i) {
        Session session = database.open_session("bob").value();
        session.async_acquire({lock_of("a")}, patient, [&](const Result<Guard>& answer) {
            ++answers;
            BOOST_TEST(failure_of(answer) == "closing");
        });
        session.detach();
    }
    database.close().value();
    BOOST_TEST(answers == 10);
}

// After a fork, the child has copies of all objects but may not use them.
BOOST_AUTO_TEST_CASE(is_refused_to_a_child_of_its_process) {
    Session session = database.open_session("ann").value();
    Guard guard = session.acquire("a").value();
    const int status = in_child([&] {
        // In the child, no lease is renewed, and no lock is valid.
        database.tick();
        if (failure_of(session.renew()) != "store_in_use") return 9;
        if (session.valid() || guard.valid()) return 10;
        if (failure_of(session.acquire("b")) != "store_in_use") return 1;
        if (failure_of(database.open_session("bob")) != "store_in_use") return 2;
        if (failure_of(guard.convert(Mode::exclusive)) != "store_in_use") return 3;
        if (session.assert_held("a", Mode::write)) return 4;
        if (failure_of(database.show("a")) != "store_in_use") return 5;
        if (failure_of(guard.release()) != "store_in_use") return 6;
        if (failure_of(session.close()) != "store_in_use") return 7;
        if (failure_of(database.close()) != "store_in_use") return 8;
        return 0;
    });
    BOOST_TEST(status == 0);
    BOOST_TEST(guard.valid());
    BOOST_TEST(manager_holds(session.id(), "a"));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(a_database_with_threads, OnDisk, *boost::unit_test::label("rocksdb"))

// The child has none of the parent's threads, so the destructors must not wait for them.
BOOST_AUTO_TEST_CASE(may_be_destroyed_in_a_child_of_its_process) {
    auto database = std::make_unique<Database>(Database::open(path).value());
    Session session = database->open_session("ann").value();
    Guard guard = session.acquire("a").value();
    const int status = in_child([&] {
        alarm(20);
        { const Guard mine = std::move(guard); }
        { const Session mine = std::move(session); }
        database.reset();
        return 0;
    });
    BOOST_TEST(status == 0);
    BOOST_TEST(guard.valid());
    BOOST_TEST(session.acquire("b").has_value());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(a_database_on_disk, OnDisk, *boost::unit_test::label("rocksdb"))

BOOST_AUTO_TEST_CASE(keeps_its_locks_its_classes_and_its_audit) {
    LockClass lock_class;
    lock_class.pattern = "orders/*";
    lock_class.policy = Policy::read_write;
    GrantId broken{};
    {
        Database database = open().value();
        database.put_class(lock_class).value();
        Session session = database.open_session("ann").value();
        session.acquire("orders/1").value().detach();
        broken = session.acquire("orders/2").value().detach().id;
        database.break_grant(broken, "root", "test").value();
        session.detach();
        database.close().value();
    }
    Database database = open().value();
    BOOST_TEST((database.classes() == std::vector<LockClass>{lock_class}));
    const LockPage page = database.list().value();
    BOOST_REQUIRE(page.locks.size() == 1U);
    BOOST_TEST(page.locks[0].resource == "orders/1");
    const auto audit = database.service().audit(0, 10).value();
    BOOST_REQUIRE(audit.size() == 1U);
    BOOST_TEST((audit[0].grant == broken));
    const auto past = database.show("orders/2").value().last_holder;
    BOOST_REQUIRE(past.has_value());
    BOOST_TEST(past->holder.principal == "ann");
    BOOST_TEST((past->ending.outcome == Outcome::broken));
    BOOST_TEST(database.statistics().recovered == 1U);
}

// S12: a store has one manager.
BOOST_AUTO_TEST_CASE(is_opened_by_one_process_at_a_time) {
    std::array<int, 2> ready{};
    std::array<int, 2> leave{};
    BOOST_REQUIRE(pipe(ready.data()) == 0);
    BOOST_REQUIRE(pipe(leave.data()) == 0);
    const pid_t child = start_child([&]() -> int {
        const auto database = open();
        char byte = database ? 'y' : 'n';
        if (write(ready[1], &byte, 1) != 1) _exit(1);
        const bool left = read(leave[0], &byte, 1) == 1;
        // Does not close the store: that needs threads which the child does not have.
        _exit(left ? 0 : 1);
    });
    char byte = 'n';
    BOOST_REQUIRE(read(ready[0], &byte, 1) == 1);
    BOOST_REQUIRE(byte == 'y');
    const auto refused = open();
    BOOST_TEST(failure_of(refused) == "store_in_use");
    if (!refused) BOOST_TEST((refused.error().pid == child));
    BOOST_REQUIRE(write(leave[1], &byte, 1) == 1);
    int status = 0;
    waitpid(child, &status, 0);
    BOOST_TEST(failure_of(open()) == "");
    for (const int end : {ready[0], ready[1], leave[0], leave[1]}) close(end);
}

BOOST_AUTO_TEST_CASE(is_opened_once_in_a_process) {
    const Database database = open().value();
    const auto refused = open();
    BOOST_TEST(failure_of(refused) == "store_in_use");
    if (!refused) BOOST_TEST((refused.error().pid == getpid()));
}

BOOST_AUTO_TEST_CASE(is_not_opened_in_a_directory_of_other_files) {
    fs::create_directory(path);
    std::ofstream(path + "/thesis.txt") << "text";
    BOOST_TEST(failure_of(open()) == "not_a_store");
    BOOST_TEST(fs::exists(path + "/thesis.txt"));
    BOOST_TEST(std::distance(fs::directory_iterator(path), fs::directory_iterator()) == 1);
}

BOOST_AUTO_TEST_CASE(is_a_directory) {
    std::ofstream(path) << "text";
    BOOST_TEST(failure_of(open()) == "not_a_store");
    BOOST_TEST(failure_of(Database::open(path + "/store")) == "not_a_store");
}

// An unknown newer format is refused (invariant D7).
BOOST_AUTO_TEST_CASE(is_not_opened_when_it_was_written_by_a_newer_version) {
    {
        auto storage = open_rocksdb_storage(path, clock).value();
        Batch batch;
        std::string value;
        append_u64(value, 2);
        append_u32(value, 4);
        batch.writes.push_back({Family::meta, "format", value});
        storage->commit(std::move(batch)).value();
        storage->close().value();
    }
    BOOST_TEST(failure_of(open()) == "newer_format");
}

BOOST_AUTO_TEST_CASE(is_not_opened_in_a_read_only_directory,
                     *boost::unit_test::precondition(may_be_unprivileged)) {
    { open().value().close().value(); }
    chmod(directory.path().c_str(), 0755);
    chmod(path.c_str(), 0555);
    const int status = in_child([&] {
        if (!become_unprivileged()) return 99;
        return failure_of(open()) == "read_only" ? 0 : 1;
    });
    chmod(path.c_str(), 0755);
    BOOST_TEST(status == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
