// If the disk fails or is full, requests return errors, no lock is granted, and no earlier grant is
// lost.
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include <boost/test/unit_test.hpp>

#include <rocklock/database.hpp>
#include <rocklock/testing/faulty_storage.hpp>

#include "database/simulated_database.hpp"
#include "support/abilities.hpp"
#include "support/in_child.hpp"
#include "support/temporary_directory.hpp"

namespace rocklock::testing {

namespace {

// A database on a disk that can be made to fail.
struct OnFaultyDisk {
    SimulatedClock clock;
    std::unique_ptr<FaultyStorage> made = std::make_unique<FaultyStorage>(clock);
    FaultyStorage& disk = *made;
    Database database = Database::open_on(std::move(made), simulated(clock)).value();
    Session ann = database.open_session("ann").value();

    Database reopen(std::unique_ptr<FaultyStorage> storage) {
        return Database::open_on(std::move(storage), simulated(clock)).value();
    }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(a_failed_disk, OnFaultyDisk)

BOOST_AUTO_TEST_CASE(grants_no_locks_and_fails_every_request) {
    const Guard guard = ann.acquire("a").value();
    disk.fail_nth(FaultyStorage::Call::sync, 1);
    const auto refused = ann.acquire("b");
    BOOST_REQUIRE(failure_of(refused) == "io_error");
    BOOST_TEST(failure_of(ann.acquire("c")) == "io_error");
    BOOST_TEST(failure_of(ann.renew()) == "io_error");
    BOOST_TEST(failure_of(database.open_session("bob")) == "io_error");
    BOOST_TEST(failure_of(database.list()) == "io_error");
    BOOST_TEST(failure_of(database.show("a")) == "io_error");
    BOOST_TEST(failure_of(ann.assert_held("a", Mode::write)) == "not_owner");
    BOOST_TEST(refused.error().message != "");
}

BOOST_AUTO_TEST_CASE(completes_waiting_calls) {
    Session bob = database.open_session("bob").value();
    const Guard guard = ann.acquire("a").value();
    std::string answer = "none";
    AcquireOptions patient;
    patient.patience = 1h;
    bob.async_acquire({lock_of("a")}, patient,
                      [&](const Result<Guard>& result) { answer = failure_of(result); });
    disk.fail_nth(FaultyStorage::Call::sync, 1);
    std::ignore = ann.acquire("b");
    database.tick();
    BOOST_TEST(answer == "io_error");
}

// Lets each kind of call fail at each of its occurrences during the life of a grant.
BOOST_AUTO_TEST_CASE(loses_no_grants_at_any_point_of_failure) {
    for (const auto call :
         {FaultyStorage::Call::enqueue, FaultyStorage::Call::write, FaultyStorage::Call::sync}) {
        for (std::uint64_t nth = 1;; ++nth) {
            OnFaultyDisk machine;
            machine.disk.fail_nth(call, nth);
            std::vector<Grant> acknowledged;
            std::vector<GrantId> maybe_released;
            for (int i = 0; i < 8; ++i) {
                auto guard = machine.ann.acquire("r" + std::to_string(i));
                if (!guard) continue;
                if (i % 3 == 2) {
                    maybe_released.push_back(guard->id());
                    std::ignore = guard->release();
                } else {
                    acknowledged.push_back(guard->detach());
                }
            }
            // All calls of this kind have failed once.
            if (!machine.disk.failure()) {
                BOOST_TEST(nth > 8);
                break;
            }
            // The session is written but not synced until it holds a lock.
            if (acknowledged.empty()) continue;
            Database again = machine.reopen(machine.disk.reopen_after_power_cut());
            Session session = again.resume_session(machine.ann.credentials()).value();
            const auto guards = session.reclaim().value();
            for (const Grant& grant : acknowledged) {
                const bool there = std::any_of(guards.begin(), guards.end(), [&](const Guard& g) {
                    return g.id() == grant.id && g.token() == grant.token;
                });
                BOOST_TEST(there, "call " << int(call) << ", nth " << nth);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(gives_every_session_its_full_lease_when_it_is_opened_again) {
    const Guard guard = ann.acquire("a").value();
    clock.advance(20s);
    disk.fail_nth(FaultyStorage::Call::sync, 1);
    BOOST_TEST(failure_of(ann.acquire("b")) == "io_error");
    auto storage = disk.reopen_after_kill();
    BOOST_TEST(storage->suspect());
    Database again = reopen(std::move(storage));
    BOOST_TEST((again.sessions().value().at(0).remaining == 30s));
    BOOST_TEST(!again.storage().suspect());
}

BOOST_AUTO_TEST_CASE(that_did_not_fail_keeps_deadlines_exact) {
    const Guard guard = ann.acquire("a").value();
    clock.advance(20s);
    Database again = reopen(disk.reopen_after_kill());
    BOOST_TEST((again.sessions().value().at(0).remaining == 10s));
}

BOOST_AUTO_TEST_CASE(cannot_be_opened_and_reports_why) {
    for (std::uint64_t nth = 1; nth <= 3; ++nth) {
        auto storage = disk.reopen_after_kill();
        storage->fail_nth(FaultyStorage::Call::read, nth);
        const auto opened = Database::open_on(std::move(storage), simulated(clock));
        BOOST_TEST(failure_of(opened) == "io_error");
    }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_full_disk, *boost::unit_test::label("rocksdb"))

// Uses a file system of two megabytes, mounted in the mount namespace of a new process.
BOOST_AUTO_TEST_CASE(is_an_error_and_keeps_earlier_grants,
                     *boost::unit_test::precondition(may_mount)) {
    const TemporaryDirectory directory;
    const std::string small = directory / "small";
    std::filesystem::create_directory(small);
    const int status = in_new_process([&] {
        if (unshare(CLONE_NEWNS) != 0 ||
            mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            mount("tmpfs", small.c_str(), "tmpfs", 0, "size=2m") != 0) {
            return 99;
        }
        SimulatedClock clock;
        const std::string store = small + "/store";
        SessionCredentials credentials;
        std::vector<Grant> granted;
        {
            Database database = Database::open(store, simulated(clock)).value();
            Session session = database.open_session("ann").value();
            credentials = session.credentials();
            AcquireOptions options;
            options.note = std::string(4000, 'x');
            for (int i = 0; i < 2000; ++i) {
                auto guard = session.acquire("r" + std::to_string(i), options);
                if (!guard && guard.error().code != ErrorCode::no_space) return 1;
                if (!guard) break;
                granted.push_back(guard->detach());
            }
            if (granted.empty() || granted.size() == 2000) return 2;
            if (session.acquire("later").has_value()) return 3;
            session.detach();
            if (database.close().has_value()) return 4;
        }
        // Frees space, as an administrator would.
        if (mount(nullptr, small.c_str(), nullptr, MS_REMOUNT, "size=20m") != 0) return 5;
        clock.advance(20s);
        auto database = Database::open(store, simulated(clock));
        if (!database) return 6;
        // The last renewal may be lost with the failure, so each session gets a full lease.
        if (database->sessions().value().at(0).remaining != 30s) return 7;
        Session session = database->resume_session(credentials).value();
        const auto guards = session.reclaim().value();
        if (guards.size() < granted.size()) return 8;
        for (std::size_t i = 0; i < granted.size(); ++i) {
            if (guards[i].id() != granted[i].id || guards[i].token() != granted[i].token) return 9;
        }
        return session.acquire("later").has_value() ? 0 : 10;
    });
    BOOST_TEST(status == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
