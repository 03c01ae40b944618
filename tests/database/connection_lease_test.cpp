// Leases, renewals, bindings and backups over a connection.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include <boost/test/unit_test.hpp>

#include "database/scripted_daemon.hpp"

namespace rocklock::testing {

using namespace scripted;

BOOST_AUTO_TEST_SUITE(a_lease_over_a_socket)

// The client assumes no more of its lease than the daemon has granted (X4).
BOOST_AUTO_TEST_CASE(is_counted_from_before_the_request) {
    SimulatedClock clock;
    ScriptedDaemon daemon([&](ScriptedDaemon& its) {
        its.welcome();
        its.next();
        clock.advance(5s);
        its.reply(thirty_seconds());
        its.next();
        clock.advance(2s);
        // The request waited at the daemon for at most 1.5 s before it was decided.
        auto grant = grant_of(5, "a");
        grant.cap = grant.deadline - 20s;
        its.reply(grant, 1500ms);
        its.next();
        clock.advance(4s);
        its.reply(thirty_seconds());
        while (its.next()) its.reply(SessionDetail{thirty_seconds(), {grant_of(5, "a")}});
    });
    ConnectOptions options = soon();
    options.clock = &clock;
    options.background = false;
    Database database = Database::connect(daemon.path(), options).value();
    Session session = database.open_session("ann", by_hand()).value();
    BOOST_TEST((session.remaining() == 22s));  // 30 s minus 5 s in transit and a margin of 3 s.
    Guard guard = session.acquire("a").value();
    BOOST_TEST((session.remaining() == 26500ms));
    // The cap of the grant is ten seconds after the decision.
    BOOST_TEST((guard.remaining() == 6500ms));
    BOOST_TEST(session.renew().has_value());
    BOOST_TEST((session.remaining() == 23s));
    clock.advance(23s);
    BOOST_TEST(!session.valid());
    guard.detach();
    session.detach();
}

// The client treats its locks as lost three seconds before the lease of 30 s ends (X4).
BOOST_AUTO_TEST_CASE(ends_when_the_daemon_is_silent) {
    SimulatedClock clock;
    ScriptedDaemon daemon([&](ScriptedDaemon& its) {
        its.welcome();
        its.answer(thirty_seconds());
        while (its.next()) {
        }
    });
    ConnectOptions options;
    options.patience = 1s;  // the first two calls are answered well within it
    options.clock = &clock;
    options.background = false;
    Database database = Database::connect(daemon.path(), options).value();
    Session session = database.open_session("ann").value();
    std::vector<milliseconds> warnings;
    session.on_warning([&](milliseconds left) { warnings.push_back(left); });
    clock.advance(21s);
    database.tick();
    BOOST_TEST(session.valid());
    BOOST_TEST(warnings.size() == 1U);
    clock.advance(6s);
    BOOST_TEST(!session.valid());
    session.detach();
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(renewals_that_are_due_together)

// The daemon responds only after it has received all three requests, in reverse order.
BOOST_AUTO_TEST_CASE(are_sent_together_and_answered_separately) {
    std::atomic<int> together{0};
    ScriptedDaemon daemon([&](ScriptedDaemon& its) {
        its.welcome();
        for (std::uint8_t one = 1; one <= 3; ++one) its.answer(one_of(one, 30s));
        std::vector<std::pair<std::uint64_t, SessionInfo>> answers;
        while (answers.size() < 3) {
            const auto call = its.next();
            if (!call) return;
            const auto one = std::get<RenewSession>(call->body).session.bytes[0];
            answers.emplace_back(its.number(), one_of(one, one * 10s));
            ++together;
        }
        std::reverse(answers.begin(), answers.end());
        for (const auto& [number, session] : answers) its.reply_to(number, session);
        while (its.next()) its.reply(Pong{});
    });
    Three three(daemon, 30s);
    three.clock.advance(10s);
    three.database.tick();
    BOOST_TEST(together == 3);
    // A lease minus its margin of 3 s.
    BOOST_TEST((three.sessions[0].remaining() == 7s));
    BOOST_TEST((three.sessions[1].remaining() == 17s));
    BOOST_TEST((three.sessions[2].remaining() == 27s));
}

BOOST_AUTO_TEST_CASE(fail_separately) {
    std::atomic<int> asked{0};
    ScriptedDaemon daemon([&](ScriptedDaemon& its) {
        its.welcome();
        for (std::uint8_t one = 1; one <= 3; ++one) its.answer(one_of(one, 30s));
        while (const auto call = its.next()) {
            ++asked;
            const auto one = std::get<RenewSession>(call->body).session.bytes[0];
            if (one == 2) {
                its.refuse(Error(ErrorCode::session_expired, "it is over"));
            } else if (one == 3) {
                its.refuse(Error(ErrorCode::io_error, "not now"));
            } else {
                its.reply(one_of(one, 30s));
            }
        }
    });
    Three three(daemon, 30s);
    three.clock.advance(10s);
    three.database.tick();
    BOOST_TEST(asked == 3);
    BOOST_TEST((three.sessions[0].remaining() == 27s));
    BOOST_TEST(!three.sessions[1].valid());
    BOOST_TEST((three.sessions[2].remaining() == 17s));
    // The third renewal is retried soon, the others are not.
    three.clock.advance(3s);
    three.database.tick();
    BOOST_TEST(asked == 4);
}

BOOST_AUTO_TEST_CASE(time_out_together_if_the_daemon_is_silent) {
    ScriptedDaemon daemon([](ScriptedDaemon& its) {
        its.welcome();
        for (std::uint8_t one = 1; one <= 3; ++one) its.answer(one_of(one, 600ms));
        while (its.next()) {
        }
    });
    Three three(daemon, 600ms);
    three.clock.advance(410ms);
    three.database.tick();
    BOOST_TEST((three.warnings == std::vector<int>{1, 1, 1}));
    for (const Session& session : three.sessions) BOOST_TEST(session.valid());
    three.clock.advance(200ms);
    three.database.tick();
    for (const Session& session : three.sessions) BOOST_TEST(!session.valid());
    BOOST_TEST((three.warnings == std::vector<int>{1, 1, 1}));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(the_reply_of_a_renewal)

BOOST_AUTO_TEST_CASE(is_reported_once) {
    ScriptedDaemon daemon([](ScriptedDaemon& its) {
        its.welcome();
        its.answer(thirty_seconds());
        its.answer(grant_of(5, "a"));
        auto news = thirty_seconds();
        news.lost = {{GrantId{5}, {Outcome::stolen, "bob", "why", WallTime{}}},
                     {GrantId{4}, {Outcome::stolen, "bob", "not ours", WallTime{}}}};
        its.answer(news);
        its.answer(news);
        while (its.next()) its.reply(ClosedSession{});
    });
    ConnectOptions options = soon();
    options.background = false;
    Database database = Database::connect(daemon.path(), options).value();
    Session session = database.open_session("ann", by_hand()).value();
    Notices notices;
    notices.listen(session);
    Guard guard = session.acquire("a").value();
    session.renew().value();
    session.renew().value();
    database.tick();
    BOOST_REQUIRE(notices.lost.size() == 1U);
    BOOST_TEST(notices.lost[0].ending.by == "bob");
    BOOST_TEST(notices.lost[0].grant.locks.at(0).resource == "a");
    BOOST_TEST(!guard.valid());
    guard.detach();
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_binding_over_a_socket)

BOOST_FIXTURE_TEST_CASE(is_that_of_the_daemons_table, Connected) {
    TableService& tables = *store.tables().value();
    create_orders(tables);
    const TableBinding bound{"orders", "orders/{id}", true};
    BOOST_TEST((database.bind_table(bound).value() == bound));
    BOOST_TEST((tables.list_bindings().value() == std::vector{bound}));
    BOOST_TEST((database.bindings().value() == std::vector{bound}));
    BOOST_TEST((store.bindings().value() == std::vector{bound}));
    BOOST_TEST(failure_of(database.bind_table({"orders", "{text}", false})) == "invalid_argument");
    BOOST_TEST(failure_of(database.bind_table({"nothing", "x", false})) == "resource_not_found");
    BOOST_TEST((database.unbind_table("orders").value() == bound));
    BOOST_TEST(failure_of(database.unbind_table("orders")) == "invalid_argument");
    BOOST_TEST(tables.list_bindings().value().empty());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_backup_over_a_socket)

BOOST_AUTO_TEST_CASE(is_stored_in_the_given_directory, *boost::unit_test::label("rocksdb")) {
    const TemporaryDirectory directory;
    Database store = Database::open(directory / "store").value();
    const ServedDatabase server(store, system_clock(), false);
    Database database = Database::connect(server.path(), soon()).value();
    Session session = database.open_session("ann", by_hand()).value();
    session.acquire("a").value().detach();
    BOOST_TEST(failure_of(database.backup(directory / "copy")) == "");
    const StoreReport report = check_store(directory / "copy").value();
    BOOST_TEST(report.problems.empty());
    BOOST_TEST(report.facts.grants == 1U);
    BOOST_TEST(report.facts.copy);
    // Returns the errors of the storage, too.
    BOOST_TEST(failure_of(database.backup(directory / "copy")) == "invalid_argument");
    BOOST_TEST(failure_of(database.backup(directory / "no/such")) == "invalid_argument");
    // A relative path is relative to the directory of this program, not of the daemon.
    const auto relative = std::filesystem::relative(directory / "another").string();
    BOOST_TEST(relative.front() != '/');
    BOOST_TEST(failure_of(database.backup(relative)) == "");
    BOOST_TEST(std::filesystem::exists(directory / "another"));
    session.detach();
}

BOOST_FIXTURE_TEST_CASE(of_a_store_in_memory_is_refused, Connected) {
    BOOST_TEST(failure_of(database.backup("/nowhere")) == "invalid_argument");
    BOOST_TEST(failure_of(database.backup("")) == "invalid_argument");
}

// A backup may take longer than the timeout of other calls, and is not retried.
BOOST_AUTO_TEST_CASE(is_requested_once_and_waited_for) {
    std::atomic<int> backups{0};
    std::atomic<bool> hangs_up{false};
    ScriptedDaemon daemon([&](ScriptedDaemon& its) {
        its.welcome();
        const auto count = [&](const std::optional<Call>& call) {
            if (call && std::holds_alternative<Backup>(call->body)) ++backups;
            return call.has_value();
        };
        count(its.next());
        its.next();
        while (!hangs_up) std::this_thread::yield();
        its.hang_up();
        its.accept();
        LockStatistics counts;
        counts.sessions = 7;
        while (count(its.next())) its.reply(counts);
    });
    ConnectOptions impatient;
    impatient.patience = 1s;
    Database database = Database::connect(daemon.path(), impatient).value();
    std::atomic<bool> over{false};
    std::string answer;
    std::jthread copier([&] {
        answer = failure_of(database.backup("/copy"));
        over = true;
    });
    const auto give_up = std::chrono::steady_clock::now() + 30s;
    const auto wait_until = [&](const std::function<bool()>& so) {
        while (!so()) {
            BOOST_REQUIRE((std::chrono::steady_clock::now() < give_up));
            std::this_thread::yield();
        }
    };
    wait_until([&] { return backups == 1; });
    // Another call times out in the meantime.
    BOOST_TEST(failure_of(database.show("a")) == "indeterminate");
    BOOST_TEST(!over);
    hangs_up = true;
    copier.join();
    BOOST_TEST(answer == "indeterminate");
    wait_until([&] { return database.statistics().sessions == 7; });
    BOOST_TEST(backups == 1);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(a_child_of_the_process, Connected)

BOOST_AUTO_TEST_CASE(has_no_right_to_the_connection) {
    Session session = database.open_session("ann").value();
    Guard guard = session.acquire("a").value();
    const int status = in_child([&] {
        const bool refused = failure_of(database.open_session("bob")) == "store_in_use" &&
                             failure_of(session.acquire("b")) == "store_in_use" &&
                             failure_of(database.show("a")) == "store_in_use" && !guard.valid();
        return refused ? 0 : 1;
    });
    BOOST_TEST(status == 0);
    BOOST_TEST(guard.valid());
    BOOST_TEST(store.service().holds(session.id(), "a", Mode::write));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
