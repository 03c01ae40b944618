// Compiles and runs the examples of README.md and docs/library.md.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/database.hpp>
#include <rocklock/testing/simulated_clock.hpp>

#include "support/temporary_directory.hpp"

namespace {

using namespace std::chrono_literals;

// Runs each example in a new directory, where it can create its store.
struct InOwnDirectory {
    rocklock::testing::TemporaryDirectory directory;
    std::filesystem::path before = std::filesystem::current_path();
    std::vector<std::string> messages;

    InOwnDirectory() { std::filesystem::current_path(directory.path()); }
    ~InOwnDirectory() { std::filesystem::current_path(before); }
    InOwnDirectory(const InOwnDirectory&) = delete;
    InOwnDirectory& operator=(const InOwnDirectory&) = delete;

    void complain(const rocklock::Error& error) { messages.push_back(error.message); }
    void save_order(int number, rocklock::Token token) {
        messages.push_back("order " + std::to_string(number) +
                           (rocklock::number(token) > 0 ? " saved" : " lost"));
    }

    void quick_start() {
        //! [quick_start]
        auto database = rocklock::Database::open("locks");
        if (!database) return complain(database.error());

        auto session = database->open_session("ann");
        if (!session) return complain(session.error());

        auto guard = session->acquire("orders/42");
        // The error includes the holder, the time of the grant, and the remaining lease.
        if (!guard) return complain(guard.error());

        // Edit for as long as needed. The lease is renewed in the background.

        if (guard->valid()) save_order(42, guard->token());  // each write needs the token
        //! [quick_start]
    }

    void connect() {
        //! [connect]
        auto database = rocklock::Database::connect("/run/rocklock/rocklock.sock");
        if (!database) return complain(database.error());  // `unreachable` if no daemon listens
        //! [connect]
        messages.emplace_back("connected");
    }

    void connect_to_the_manager() {
        //! [connect_to_the_manager]
        auto database = rocklock::Database::connect({}, {.start = true});
        //! [connect_to_the_manager]
        if (!database) complain(database.error());
    }
};

struct Opened : InOwnDirectory {
    rocklock::Database database = rocklock::Database::open("locks").value();
    rocklock::Session session = database.open_session("ann").value();
};

}  // namespace

BOOST_AUTO_TEST_SUITE(an_example, *boost::unit_test::label("rocksdb"))

BOOST_FIXTURE_TEST_CASE(of_a_quick_start, InOwnDirectory) {
    quick_start();
    BOOST_REQUIRE(messages.size() == 1U);
    BOOST_TEST(messages[0] == "order 42 saved");
    // If the store is already open, the example reports the error.
    auto database = rocklock::Database::open("locks").value();
    quick_start();
    BOOST_TEST(messages.back().find("is already open in process") != std::string::npos);
}

// The socket may or may not have a listener. If it has, the example only connects.
BOOST_FIXTURE_TEST_CASE(of_a_connection, InOwnDirectory) {
    connect();
    BOOST_REQUIRE(messages.size() == 1U);
    BOOST_TEST((messages[0] == "connected" || messages[0].find("no daemon answers on") == 0));
}

// Without the program, no daemon is found or started.
BOOST_FIXTURE_TEST_CASE(of_a_connection_to_the_manager, InOwnDirectory) {
    const std::string path = std::getenv("PATH");
    ::setenv("PATH", "/nonexistent", 1);
    connect_to_the_manager();
    ::setenv("PATH", path.c_str(), 1);
    BOOST_REQUIRE(messages.size() == 1U);
    BOOST_TEST(messages[0].find("cannot run the program 'rocklock'") == 0U);
}

BOOST_FIXTURE_TEST_CASE(of_waiting, Opened) {
    const std::stop_token stop;
    std::jthread other([this] {
        auto bob = database.open_session("bob").value();
        std::ignore = bob.acquire("orders/42");
    });
    //! [waiting]
    rocklock::AcquireOptions options;
    options.patience = 10s;  // rocklock::no_limit waits without a limit
    options.note = "closing the month";
    // A std::stop_token can cancel the wait.
    auto guard = session.acquire("orders/42", options, stop);
    //! [waiting]
    BOOST_TEST(guard.has_value());
}

BOOST_FIXTURE_TEST_CASE(of_a_refusal, Opened) {
    auto bob = database.open_session("bob").value();
    const auto held = bob.acquire("orders/42").value();
    //! [refusal]
    auto guard = session.acquire("orders/42");
    if (!guard && guard.error().code == rocklock::ErrorCode::conflict) {
        for (const rocklock::Holder& holder : guard.error().blockers) {
            messages.push_back(holder.principal + " holds it for another " +
                               std::to_string(holder.remaining.count()) + " ms");
        }
    }
    //! [refusal]
    BOOST_REQUIRE(messages.size() == 1U);
    BOOST_TEST(messages[0].starts_with("bob holds it for another 2"));
}

BOOST_FIXTURE_TEST_CASE(of_a_set, Opened) {
    //! [set]
    rocklock::LockRequest order{.resource = "orders/42"};
    rocklock::LockRequest customer{.resource = "customers/7", .mode = rocklock::Mode::read};
    auto guard = session.acquire({order, customer});  // both or none
    //! [set]
    BOOST_REQUIRE(guard.has_value());
    BOOST_TEST(guard->grant().locks.size() == 2U);
}

BOOST_FIXTURE_TEST_CASE(of_dependants, Opened) {
    //! [dependants]
    rocklock::LockClass orders;
    orders.pattern = "tables/orders";
    orders.dependants = {{"tables/customers", rocklock::Mode::read}};  // its foreign keys
    database.put_class(orders).value();

    auto guard = session.acquire("tables/orders").value();  // also locks tables/customers
    //! [dependants]
    BOOST_TEST(guard.assert_held("tables/customers", rocklock::Mode::read).has_value());
}

BOOST_FIXTURE_TEST_CASE(of_notifications, Opened) {
    //! [notifications]
    session.on_warning([&](std::chrono::milliseconds left) {
        messages.push_back("not renewed, " + std::to_string(left.count()) + " ms left");
    });
    session.on_lost([&](const rocklock::LostNotice& notice) {
        messages.push_back("lost: " + std::string(to_string(notice.ending.outcome)));
    });
    session.on_wanted([&](const rocklock::Wanted& wanted) {
        messages.push_back(wanted.by + " waits for " + wanted.resource);
    });
    //! [notifications]
    const auto guard = session.acquire("orders/42").value();
    database.break_grant(guard.id(), "root", "example").value();
    database.close().value();
    BOOST_REQUIRE(messages.size() == 1U);
    BOOST_TEST(messages[0] == "lost: broken");
}

BOOST_FIXTURE_TEST_CASE(of_watching, InOwnDirectory) {
    rocklock::DatabaseOptions options;
    options.events_kept = 1000;
    auto database = rocklock::Database::open("locks", options).value();
    auto session = database.open_session("ann").value();
    const auto guard = session.acquire("orders/42").value();
    //! [watch]
    rocklock::WatchRequest watch;
    watch.prefix = "orders/";
    watch.patience = 10s;
    auto page = database.service().watch(watch).value();  // waits for the first match
    for (const auto& event : page.events) {
        messages.push_back(std::string(to_string(event.type)) + " " + event.resource + " " +
                           event.principal);
    }
    watch.after = page.after;  // the next call continues there
    //! [watch]
    BOOST_REQUIRE(messages.size() == 1U);
    BOOST_TEST(messages[0] == "granted orders/42 ann");
}

BOOST_FIXTURE_TEST_CASE(of_a_lock_that_outlives_its_process, InOwnDirectory) {
    rocklock::SessionCredentials kept;
    {
        auto database = rocklock::Database::open("locks").value();
        //! [detach]
        rocklock::SessionOptions options;
        options.lease = 10min;
        auto session = database.open_session("ann", options).value();
        session.acquire("orders/42").value().detach();
        kept = session.detach();  // to_string(kept.id) and to_string(kept.secret) return text
        //! [detach]
    }
    auto database = rocklock::Database::open("locks").value();
    //! [resume]
    auto session = database.resume_session(kept).value();  // within its lease
    auto guards = session.reclaim().value();               // the same grants and tokens
    //! [resume]
    BOOST_REQUIRE(guards.size() == 1U);
    BOOST_TEST(guards[0].valid());
}

BOOST_AUTO_TEST_CASE(of_a_test_with_a_simulated_clock) {
    //! [simulated]
    rocklock::testing::SimulatedClock clock;
    rocklock::DatabaseOptions options;
    options.clock = &clock;
    options.background = false;  // no background threads: call tick()
    auto database = rocklock::Database::in_memory(options).value();
    auto session = database.open_session("ann").value();
    auto guard = session.acquire("orders/42").value();

    clock.advance(1min);  // Ann's process was stopped and did not renew the lease.
    BOOST_TEST(!guard.valid());
    //! [simulated]
}

BOOST_AUTO_TEST_SUITE_END()
