// Connections to a daemon: connecting, and lost connections.
#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "database/scripted_daemon.hpp"

namespace rocklock::testing {

using namespace scripted;

namespace {

// Checks that an acquire is sent again, with the same request id, to the daemon that accepts the
// next connection. `answer` is called before the first daemon closes the connection.
void check_repeated_after(const std::function<void(ScriptedDaemon&)>& answer) {
    std::string first;
    std::string second;
    ScriptedDaemon daemon([&](ScriptedDaemon& its) {
        its.welcome();
        its.answer(thirty_seconds());
        first = std::get<Acquire>(its.next()->body).request_id;
        answer(its);
        its.hang_up();
        its.accept();
        second = std::get<Acquire>(its.next()->body).request_id;
        its.reply(grant_of(5, "a"));
        while (its.next()) its.reply(Released{});
    });
    {
        Database database = Database::connect(daemon.path(), soon()).value();
        Session session = database.open_session("ann", by_hand()).value();
        Guard guard = session.acquire("a").value();
        BOOST_TEST((guard.id() == GrantId{5}));
        guard.detach();
        session.detach();
    }
    BOOST_TEST(!first.empty());
    BOOST_TEST(first == second);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(connecting)

BOOST_AUTO_TEST_CASE(without_a_listener_is_unreachable) {
    const TemporaryDirectory directory;
    BOOST_TEST(failure_of(Database::connect(directory / "none")) == "unreachable");
    BOOST_TEST(failure_of(Database::connect(std::string(200, 'x'))) == "unreachable");
}

BOOST_AUTO_TEST_CASE(to_a_peer_that_hangs_up_is_unreachable) {
    ScriptedDaemon daemon([](ScriptedDaemon& its) {
        its.accept();
        its.hang_up();
    });
    BOOST_TEST(failure_of(Database::connect(daemon.path())) == "unreachable");
}

BOOST_AUTO_TEST_CASE(to_a_daemon_in_another_time_namespace_is_refused) {
    for (const auto offset : {-100s, 0s, 100s}) {
        ScriptedDaemon daemon([offset](ScriptedDaemon& its) {
            its.accept();
            Pong pong;
            pong.boot_clock = std::chrono::floor<std::chrono::milliseconds>(
                system_clock().now().boot.time_since_epoch() + offset);
            its.answer(pong);
            while (its.next()) its.reply(Pong{});
        });
        const auto database = Database::connect(daemon.path(), soon());
        BOOST_TEST(database.has_value() == (offset == 0s));
        if (database) continue;
        BOOST_TEST((database.error().code == ErrorCode::invalid_argument));
        BOOST_TEST(database.error().message.find("another time namespace") != std::string::npos);
    }
}

BOOST_AUTO_TEST_CASE(to_a_daemon_at_its_connection_limit_is_retried) {
    ScriptedDaemon daemon([](ScriptedDaemon& its) {
        its.turn_away();
        its.turn_away();
        its.welcome();
        while (its.next()) its.reply(Pong{});
    });
    BOOST_TEST(Database::connect(daemon.path(), soon()).has_value());
}

BOOST_AUTO_TEST_CASE(to_a_daemon_that_stays_at_its_connection_limit_is_unreachable) {
    ScriptedDaemon daemon([](ScriptedDaemon& its) {
        for (int i = 0; i < 1000; ++i) its.turn_away();
    });
    ConnectOptions options;
    options.patience = 1s;
    const auto database = Database::connect(daemon.path(), options);
    BOOST_TEST(failure_of(database) == "unreachable");
    BOOST_TEST(database.error().message.find("--max-connections") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(that_is_refused_later_makes_calls_unreachable) {
    ScriptedDaemon daemon([](ScriptedDaemon& its) {
        its.welcome();
        its.hang_up();
        for (int i = 0; i < 1000; ++i) its.turn_away();
    });
    ConnectOptions options;
    options.patience = 1s;
    const auto database = Database::connect(daemon.path(), options);
    BOOST_TEST_REQUIRE(database.has_value());
    const auto shown = database->show("a");
    // The client may have sent the call before it noticed the end of the first connection.
    const auto failure = failure_of(shown);
    BOOST_TEST((failure == "unreachable" || failure == "indeterminate"), failure);
    BOOST_TEST(shown.error().message.find("--max-connections") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(gives_no_storage) {
    Connected world;
    Batch batch;
    batch.writes.push_back({Family::meta, "key", "value"});
    const auto committed = world.database.storage().commit(std::move(batch));
    BOOST_TEST(!committed.has_value());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(a_connection_that_breaks, Connected)

BOOST_AUTO_TEST_CASE(is_restored_without_lost_requests) {
    Session session = database.open_session("ann").value();
    Guard guard = session.acquire("a").value();
    for (int round = 0; round < 5; ++round) {
        server->drop_connections();
        BOOST_TEST(session.acquire("b" + std::to_string(round)).has_value());
        BOOST_TEST(guard.valid());
        BOOST_TEST(session.renew().has_value());
    }
    BOOST_TEST((guard.release().value().outcome == Outcome::released));
    BOOST_TEST(session.close().has_value());
    BOOST_TEST(store.statistics().held == 0U);
}

BOOST_AUTO_TEST_CASE(leaves_a_waiter_waiting) {
    Session ann = database.open_session("ann").value();
    Session bob = database.open_session("bob").value();
    Guard held = ann.acquire("a").value();
    std::optional<Result<Guard>> answer;
    std::jthread waiter([&] {
        AcquireOptions patient;
        patient.patience = no_limit;
        answer = bob.acquire("a", patient);
    });
    until_waiting(1);
    const auto waits = store.statistics().waits;
    server->drop_connections();
    // The request left the queue with the connection, and is queued again.
    const auto give_up = std::chrono::steady_clock::now() + 30s;
    while (store.statistics().waits == waits) {
        BOOST_REQUIRE((std::chrono::steady_clock::now() < give_up));
        std::this_thread::yield();
    }
    held.release().value();
    waiter.join();
    BOOST_TEST(answer->has_value());
}

BOOST_AUTO_TEST_CASE(gives_every_call_one_answer) {
    Session session = database.open_session("ann").value();
    std::atomic<int> answers{0};
    std::atomic<int> failures{0};
    constexpr int calls = 200;
    for (int i = 0; i < calls; ++i) {
        session.async_acquire({lock_of(std::to_string(i))}, {}, [&](Result<Guard> answer) {
            if (answer) {
                answer->detach();
            } else {
                ++failures;
            }
            ++answers;
        });
        if (i % 50 == 25) server->drop_connections();
    }
    const auto give_up = std::chrono::steady_clock::now() + 30s;
    while (answers < calls) {
        BOOST_REQUIRE((std::chrono::steady_clock::now() < give_up));
        std::this_thread::yield();
    }
    BOOST_TEST(failures == 0);
    BOOST_TEST(store.statistics().held == static_cast<std::uint64_t>(calls));
}

BOOST_AUTO_TEST_CASE(and_is_not_restored_is_unreachable) {
    ConnectOptions impatient;
    impatient.patience = 1s;
    Database gone = Database::connect(server->path(), impatient).value();
    Session session = gone.open_session("ann", by_hand()).value();
    const Guard guard = session.acquire("a").value();
    server.reset();
    const auto refused = failure_of(session.acquire("b"));
    BOOST_TEST((refused == "unreachable" || refused == "indeterminate"));
    // The lock is held until its lease ends.
    BOOST_TEST(guard.valid());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(an_answer_that_is_lost)

BOOST_AUTO_TEST_CASE(is_requested_again_with_the_same_request_id) {
    check_repeated_after([](ScriptedDaemon&) {});
}

// The client cannot know whether the request was executed (X3, P3).
BOOST_AUTO_TEST_CASE(to_a_request_that_cannot_be_repeated_is_indeterminate) {
    ScriptedDaemon daemon([](ScriptedDaemon& its) {
        its.welcome();
        its.next();
        its.hang_up();
        its.accept();
        while (its.next()) its.reply(Pong{});
    });
    Database database = Database::connect(daemon.path(), soon()).value();
    BOOST_TEST(failure_of(database.break_grant(GrantId{1}, "root", "why")) == "indeterminate");
}

// Another node has become the manager. It is unknown whether the old one executed the request.
BOOST_AUTO_TEST_CASE(by_a_replaced_manager_is_requested_from_the_new_one) {
    check_repeated_after([](ScriptedDaemon& its) {
        its.refuse(Error(ErrorCode::not_the_manager, "another node is the manager"));
    });
}

BOOST_AUTO_TEST_CASE(by_a_replaced_manager_is_indeterminate_if_it_cannot_be_requested_again) {
    int breaks = 0;
    ScriptedDaemon daemon([&](ScriptedDaemon& its) {
        its.welcome();
        its.next();
        ++breaks;
        its.refuse(Error(ErrorCode::not_the_manager, "another node is the manager"));
        its.hang_up();
        its.accept();
        while (auto call = its.next()) {
            breaks += std::holds_alternative<Break>(call->body) ? 1 : 0;
            its.reply(thirty_seconds());
        }
    });
    {
        Database database = Database::connect(daemon.path(), soon()).value();
        BOOST_TEST(failure_of(database.break_grant(GrantId{1}, "root", "why")) == "indeterminate");
        // The client is connected again when this call has returned.
        Session session = database.open_session("ann", by_hand()).value();
        session.detach();
    }
    daemon.join();
    BOOST_TEST(breaks == 1);
}

// The daemon cannot have executed a request that it has not read (P3).
BOOST_AUTO_TEST_CASE(to_a_request_that_was_never_read_is_not_indeterminate) {
    std::optional<Call> asked;
    std::latch away{1};
    ScriptedDaemon daemon([&](ScriptedDaemon& its) {
        its.welcome();
        its.hang_up();
        its.turn_away();
        away.count_down();
        its.turn_away();
        its.accept();
        asked = its.next();
        its.reply(Released{});
        while (its.next()) its.reply(Pong{});
    });
    Database database = Database::connect(daemon.path(), soon()).value();
    away.wait();
    BOOST_TEST(failure_of(database.break_grant(GrantId{1}, "root", "why")) == "");
    BOOST_TEST((asked && std::holds_alternative<Break>(asked->body)));
}

BOOST_AUTO_TEST_CASE(of_a_daemon_that_started_again_does_not_unbind_a_session_from_its_connection) {
    std::vector<bool> rebinds;
    ScriptedDaemon daemon([&](ScriptedDaemon& its) {
        auto other = thirty_seconds();
        other.id.bytes[0] = 9;
        its.welcome();
        its.answer(thirty_seconds());
        its.answer(other);
        while (auto call = its.next()) {
            if (std::holds_alternative<RenewSession>(call->body)) rebinds.push_back(call->rebind);
            its.reply(thirty_seconds());
        }
    });
    {
        Database database = Database::connect(daemon.path(), soon()).value();
        LockService& service = database.service();
        OpenSession open;
        open.principal = "ann";
        open.bound = Bound::connection;
        const SessionInfo bound = service.ask(open).value();
        open.bound = Bound::none;
        const SessionInfo free = service.ask(open).value();
        service.ask(RenewSession{bound.id, {}, {}, {}, {}}).value();
        service.ask(RenewSession{free.id, {}, {}, {}, {}}).value();
    }
    BOOST_TEST((rebinds == std::vector<bool>{true, false}));
}

BOOST_AUTO_TEST_CASE(to_a_renewal_does_not_hide_lost_grants) {
    ScriptedDaemon daemon([](ScriptedDaemon& its) {
        its.welcome();
        its.answer(thirty_seconds());
        its.answer(grant_of(5, "a"));
        its.answer(grant_of(6, "b"));
        its.next();
        its.hang_up();
        its.accept();
        // After reconnecting, the client renews the session again and then queries its remaining
        // grants.
        its.answer(thirty_seconds());
        its.answer(SessionDetail{thirty_seconds(), {grant_of(6, "b")}});
        while (its.next()) its.reply(SessionDetail{thirty_seconds(), {grant_of(6, "b")}});
    });
    Database database = Database::connect(daemon.path(), soon()).value();
    Session session = database.open_session("ann", by_hand()).value();
    std::atomic<std::uint64_t> lost_grant{0};
    session.on_lost([&](const LostNotice& notice) {
        lost_grant = static_cast<std::uint64_t>(notice.grant.id);
    });
    Guard lost = session.acquire("a").value();
    Guard kept = session.acquire("b").value();
    BOOST_TEST(session.renew().has_value());
    const auto give_up = std::chrono::steady_clock::now() + 30s;
    while (lost_grant == 0) {
        BOOST_REQUIRE((std::chrono::steady_clock::now() < give_up));
        std::this_thread::yield();
    }
    BOOST_TEST(lost_grant == 5U);
    BOOST_TEST(!lost.valid());
    BOOST_TEST(kept.valid());
    lost.detach();
    kept.detach();
    session.detach();
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_daemon_that_does_not_answer)

// The daemon is stopped, for example, or the machine swaps.
BOOST_AUTO_TEST_CASE(does_not_delay_destructors) {
    constexpr std::size_t guards = 100;
    std::size_t released = 0;
    bool closed = false;
    ScriptedDaemon daemon([&](ScriptedDaemon& its) {
        its.welcome();
        its.answer(thirty_seconds());
        for (std::size_t i = 0; i < guards; ++i) {
            its.answer(grant_of(5 + i, "r" + std::to_string(i)));
        }
        while (const auto call = its.next()) {
            released += std::holds_alternative<Release>(call->body) ? 1 : 0;
            closed = closed || std::holds_alternative<CloseSession>(call->body);
        }
    });
    const auto elapsed = [](const std::function<void()>& action) {
        const auto start = std::chrono::steady_clock::now();
        action();
        return std::chrono::steady_clock::now() - start;
    };
    auto database = std::make_unique<Database>(Database::connect(daemon.path(), soon()).value());
    auto session = std::make_unique<Session>(database->open_session("ann", by_hand()).value());
    std::vector<Guard> held;
    for (std::size_t i = 0; i < guards; ++i) {
        held.push_back(session->acquire("r" + std::to_string(i)).value());
    }
    const auto of_guards = elapsed([&] { held.clear(); });
    const auto of_session = elapsed([&] { session.reset(); });
    const auto of_database = elapsed([&] { database.reset(); });
    const double milliseconds_of_guards =
        std::chrono::duration<double, std::milli>(of_guards).count();
    BOOST_TEST_MESSAGE("100 guards: " << milliseconds_of_guards << " ms");
    BOOST_TEST((of_guards < 50ms));
    BOOST_TEST((of_session < 50ms));
    // It waits for the decisions of the releases, but not for long.
    BOOST_TEST((of_database < 1s));
    // The releases have been sent nevertheless.
    daemon.join();
    BOOST_TEST(released == guards);
    BOOST_TEST(closed);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
