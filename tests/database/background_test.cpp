// The background work of a database: renewals, warnings and waits.
#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <thread>

#include <boost/test/unit_test.hpp>

#include "database/running_database.hpp"

namespace rocklock::testing {

using namespace running;

BOOST_FIXTURE_TEST_SUITE(background_work, RunningDatabase)

BOOST_AUTO_TEST_CASE(a_session_is_renewed_long_past_its_lease) {
    Session kept = database.open_session("ann", short_lease(true)).value();
    Session clock = database.open_session("bob", short_lease(false)).value();
    Events events;
    clock.on_lost([&](const LostNotice&) { events.happen("lost"); });
    // Three of bob's leases end, one after the other.
    for (std::size_t round = 1; round <= 3; ++round) {
        const Guard guard = clock.acquire("b" + std::to_string(round)).value();
        BOOST_REQUIRE(events.wait_for(round));
        if (round < 3) {
            clock = database.open_session("bob", short_lease(false)).value();
            clock.on_lost([&](const LostNotice&) { events.happen("lost"); });
        }
    }
    BOOST_TEST(kept.renew().has_value());
}

BOOST_AUTO_TEST_CASE(a_session_is_renewed_in_time_after_its_lease_was_made_shorter) {
    Session kept = database.open_session("ann").value();
    // By now the keeper is asleep, for nine seconds.
    std::this_thread::sleep_for(100ms);
    const auto before = database.statistics().renewals;
    BOOST_TEST(kept.renew(600ms).has_value());
    const auto give_up = std::chrono::steady_clock::now() + 5s;
    while (database.statistics().renewals < before + 5) {
        BOOST_REQUIRE((std::chrono::steady_clock::now() < give_up));
        std::this_thread::yield();
    }
    BOOST_TEST(kept.renew().has_value());
}

BOOST_AUTO_TEST_CASE(many_sessions_are_all_renewed_in_time) {
    SessionOptions options;
    options.lease = 3s;
    std::vector<Session> sessions;
    for (int i = 0; i < 200; ++i) {
        sessions.push_back(database.open_session("ann", options).value());
    }
    // Each session is renewed more than twice, so the test lasts longer than a lease.
    const auto give_up = std::chrono::steady_clock::now() + 30s;
    while (database.statistics().renewals < 800) {
        BOOST_REQUIRE((std::chrono::steady_clock::now() < give_up));
        std::this_thread::sleep_for(1ms);
    }
    for (const Session& session : sessions) BOOST_TEST(session.valid());
    BOOST_TEST(database.statistics().sessions == 200U);
    BOOST_TEST(database.statistics().sessions_expired == 0U);
}

BOOST_AUTO_TEST_CASE(a_lease_that_runs_out_is_warned_of_and_then_lost) {
    Session session = database.open_session("ann", short_lease(false)).value();
    Events events;
    session.on_warning([&](milliseconds) { events.happen("warning"); });
    session.on_lost([&](const LostNotice& notice) {
        events.happen(std::string(to_string(notice.ending.outcome)));
    });
    const Guard guard = session.acquire("a").value();
    BOOST_REQUIRE(events.wait_for(2));
    BOOST_TEST((events.seen() == std::vector<std::string>{"warning", "expired"}));
    BOOST_TEST(!guard.valid());
}

BOOST_AUTO_TEST_CASE(a_waiter_is_granted_when_the_holder_dies) {
    Session ann = database.open_session("ann", short_lease(false)).value();
    Session bob = database.open_session("bob").value();
    const BootTime begin = system_clock().now().boot;
    const Guard dead = ann.acquire("a").value();
    AcquireOptions patient;
    patient.patience = 10s;
    const Guard guard = bob.acquire("a", patient).value();
    BOOST_TEST(guard.grant().waited);
    BOOST_TEST((guard.token() > dead.token()));
    // The wait did not end early.
    BOOST_TEST((system_clock().now().boot >= begin + 300ms));
}

BOOST_AUTO_TEST_CASE(a_waiter_is_granted_when_the_holder_releases) {
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
    held.release().value();
    waiter.join();
    BOOST_TEST(answer->has_value());
}

// O1: the owner is the session, so a thread other than the one that acquired the lock may release
// it.
BOOST_AUTO_TEST_CASE(a_callback_may_use_the_session_that_it_is_about) {
    Session ann = database.open_session("ann", often_renewed()).value();
    Session bob = database.open_session("bob").value();
    Guard guard = ann.acquire("a").value();
    Events events;
    ann.on_wanted([&](const Wanted& wanted) {
        events.happen(wanted.by);
        std::ignore = ann.renew();
        std::ignore = guard.release();
    });
    AcquireOptions patient;
    patient.patience = 10s;
    BOOST_TEST(bob.acquire("a", patient).has_value());
    BOOST_REQUIRE(events.wait_for(1));
    BOOST_TEST(events.seen().at(0) == "bob");
    // The holder may still be within release().
    ann.on_wanted({});
    BOOST_TEST(!guard.valid());
}

BOOST_AUTO_TEST_CASE(a_removed_callback_does_not_run_any_more) {
    const std::vector<std::function<void(Session&)>> ways = {
        [](Session& session) { session.on_wanted({}); },
        [](Session& session) { session.close().value(); },
        [](Session& session) { session.detach(); },
        [](Session& session) { const Session moved = std::move(session); },
    };
    for (std::size_t way = 0; way < ways.size(); ++way) {
        const std::string resource = std::to_string(way);
        Events events;
        Session ann = database.open_session("ann", often_renewed()).value();
        Session bob = database.open_session("bob").value();
        const Guard guard = ann.acquire(resource).value();
        std::atomic<bool> over = false;
        ann.on_wanted([&](const Wanted&) {
            events.happen("called");
            std::this_thread::sleep_for(50ms);
            over = true;
        });
        AcquireOptions impatient;
        impatient.patience = 1ms;
        std::ignore = bob.acquire(resource, impatient);
        BOOST_REQUIRE(events.wait_for(1));
        ways[way](ann);
        BOOST_TEST(over.load());
    }
}

BOOST_AUTO_TEST_CASE(a_callback_may_close_its_session) {
    Events events;
    Session ann = database.open_session("ann", often_renewed()).value();
    Session bob = database.open_session("bob").value();
    const Guard guard = ann.acquire("a").value();
    ann.on_wanted([&](const Wanted&) {
        std::ignore = ann.close();
        events.happen("closed");
    });
    AcquireOptions patient;
    patient.patience = 10s;
    BOOST_TEST(bob.acquire("a", patient).has_value());
    BOOST_TEST(events.wait_for(1));
}

BOOST_AUTO_TEST_CASE(a_close_notifies_holders_and_waiters) {
    Session ann = database.open_session("ann").value();
    Session bob = database.open_session("bob").value();
    Events events;
    ann.on_lost([&](const LostNotice& notice) { events.happen(notice.ending.reason); });
    const Guard guard = ann.acquire("a").value();
    std::string answer;
    std::jthread waiter([&] {
        AcquireOptions patient;
        patient.patience = no_limit;
        answer = failure_of(bob.acquire("a", patient));
    });
    until_waiting(1);
    database.close().value();
    waiter.join();
    BOOST_TEST(answer == "closing");
    BOOST_TEST((events.seen() == std::vector<std::string>{"manager closed"}));
}

// A waiting thread checks the clock itself. The acquire before it, which does not wait, needs no
// background thread either (Q9).
BOOST_AUTO_TEST_CASE(a_wait_needs_no_background_thread) {
    DatabaseOptions options;
    options.background = false;
    Database quiet = open_test_database(options).value();
    Session ann = quiet.open_session("ann", short_lease(false)).value();
    Session bob = quiet.open_session("bob").value();
    const Guard held = ann.acquire("a").value();
    AcquireOptions impatient;
    impatient.patience = 20ms;
    BOOST_TEST(failure_of(bob.acquire("a", impatient)) == "patience_expired");
    AcquireOptions patient;
    patient.patience = 10s;
    BOOST_TEST(failure_of(bob.acquire("a", patient)) == "");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(a_stop_request, RunningDatabase)

BOOST_AUTO_TEST_CASE(ends_a_wait) {
    Session ann = database.open_session("ann").value();
    Session bob = database.open_session("bob").value();
    Session cleo = database.open_session("cleo").value();
    Guard held = ann.acquire("a").value();
    std::string answer;
    std::jthread waiter([&](const std::stop_token& stop) {
        AcquireOptions patient;
        patient.patience = no_limit;
        answer = failure_of(bob.acquire("a", patient, stop));
    });
    until_waiting(1);
    waiter.request_stop();
    waiter.join();
    BOOST_TEST(answer == "cancelled");
    BOOST_TEST(database.statistics().waiting == 0U);
    // The cancelled request is not granted later.
    held.release().value();
    BOOST_TEST(cleo.acquire("a").has_value());
}

BOOST_AUTO_TEST_CASE(that_was_made_before_the_wait_ends_it_at_once) {
    Session ann = database.open_session("ann").value();
    Session bob = database.open_session("bob").value();
    const Guard held = ann.acquire("a").value();
    std::stop_source stop;
    stop.request_stop();
    AcquireOptions patient;
    patient.patience = no_limit;
    BOOST_TEST(failure_of(bob.acquire("a", patient, stop.get_token())) == "cancelled");
}

BOOST_AUTO_TEST_CASE(ends_the_wait_of_a_conversion_and_leaves_the_mode) {
    Session ann = database.open_session("ann").value();
    Session bob = database.open_session("bob").value();
    const Guard other = ann.acquire({lock_of("a", Mode::read)}).value();
    Guard guard = bob.acquire({lock_of("a", Mode::read)}).value();
    std::string answer;
    std::jthread waiter([&](const std::stop_token& stop) {
        answer = failure_of(guard.convert(Mode::write, no_limit, stop));
    });
    until_waiting(1);
    waiter.request_stop();
    waiter.join();
    BOOST_TEST(answer == "cancelled");
    BOOST_TEST(failure_of(guard.assert_held("a", Mode::read)) == "");
}

BOOST_AUTO_TEST_CASE(that_races_with_the_grant_has_one_outcome) {
    Session ann = database.open_session("ann").value();
    Session bob = database.open_session("bob").value();
    for (int round = 0; round < 200; ++round) {
        Guard held = ann.acquire("a").value();
        std::optional<Result<Guard>> answer;
        std::jthread waiter([&](const std::stop_token& stop) {
            AcquireOptions patient;
            patient.patience = no_limit;
            answer = bob.acquire("a", patient, stop);
        });
        until_waiting(1);
        std::jthread releaser([&] { held.release().value(); });
        waiter.request_stop();
        waiter.join();
        releaser.join();
        BOOST_TEST(database.service().holds(bob.id(), "a", Mode::write) == answer->has_value());
        if (!*answer) BOOST_TEST(failure_of(*answer) == "cancelled");
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
