// The keeping of a session: it is renewed in time, warned, and notified of lost grants. It never
// assumes more of its lease than the manager has recorded.
#include <rocklock/session.hpp>

#include <memory>
#include <random>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/testing/faulty_storage.hpp>

#include "database/simulated_database.hpp"

namespace rocklock::testing {
namespace {

// Returns the shortest remaining lease of all sessions.
milliseconds min_remaining(Database& manager) {
    milliseconds least = milliseconds::max();
    const auto views = manager.sessions().value();
    for (const SessionView& view : views) least = std::min(least, view.remaining);
    return least;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(a_session_that_renews_itself, SimulatedDatabase)

BOOST_AUTO_TEST_CASE(keeps_its_grants_for_as_long_as_it_lives) {
    Session session = database.open_session("ann").value();
    const Guard guard = session.acquire("orders/42").value();
    for (int minute = 0; minute < 60; ++minute) {
        pass(1min);
        BOOST_TEST(guard.valid());
        BOOST_TEST(manager_holds(session.id(), "orders/42"));
    }
}

BOOST_AUTO_TEST_CASE(is_renewed_before_a_third_of_its_lease_has_passed) {
    Session session = database.open_session("ann").value();
    for (int step = 0; step < 600; ++step) {
        pass(100ms);
        BOOST_TEST((manager_says(session.id()).value() >= 20s));
    }
}

// One write renews all fifty locks (requirement S2).
BOOST_AUTO_TEST_CASE(needs_one_renewal_for_any_number_of_grants) {
    auto storage = std::make_unique<FaultyStorage>(clock);
    FaultyStorage& disk = *storage;
    Database counted = Database::open_on(std::move(storage), simulated(clock)).value();
    Session session = counted.open_session("ann").value();
    std::vector<Guard> guards;
    for (int i = 0; i < 50; ++i) guards.push_back(session.acquire(std::to_string(i)).value());
    testing::pass(counted, clock, 1s);
    const auto before = disk.calls(FaultyStorage::Call::write);
    testing::pass(counted, clock, 10s);
    BOOST_TEST(disk.calls(FaultyStorage::Call::write) - before == 1U);
}

BOOST_AUTO_TEST_CASE(spreads_its_renewals_a_little) {
    std::vector<Session> sessions;
    for (int i = 0; i < 20; ++i) sessions.push_back(database.open_session("ann").value());
    // Without jitter, all twenty would be renewed at the same time and have the same deadline.
    pass(15s);
    std::vector<milliseconds> left;
    const auto views = database.sessions().value();
    for (const SessionView& view : views) left.push_back(view.remaining);
    const auto [least, most] = std::minmax_element(left.begin(), left.end());
    BOOST_TEST((*most - *least >= 100ms));
    BOOST_TEST((*most - *least <= 1s));
}

BOOST_AUTO_TEST_CASE(is_renewed_in_time_after_its_lease_was_made_shorter_by_hand) {
    Session session = database.open_session("ann").value();
    const Guard guard = session.acquire("a").value();
    BOOST_TEST(session.renew(3s).has_value());
    for (int step = 0; step < 20; ++step) {
        pass(1s);
        BOOST_TEST((manager_says(session.id()).value_or(0ms) >= 2s));
        BOOST_TEST(manager_holds(session.id(), "a"));
    }
}

BOOST_AUTO_TEST_CASE(gets_no_warning_and_loses_no_lock_while_renewals_succeed) {
    Session session = database.open_session("ann").value();
    Notices notices;
    notices.listen(session);
    pass(30min);
    BOOST_TEST(notices.warnings.empty());
    BOOST_TEST(notices.lost.empty());
}

BOOST_AUTO_TEST_CASE(that_is_over_is_not_revived) {
    Session session = database.open_session("ann").value();
    const Guard guard = session.acquire("a").value();
    // Simulates a process that was stopped and did not run tick().
    clock.advance(31s);
    BOOST_TEST(!guard.valid());
    pass(10min);
    BOOST_TEST(!guard.valid());
    BOOST_TEST(!session.valid());
    BOOST_TEST(failure_of(session.renew()) == "session_expired");
    BOOST_TEST(failure_of(session.acquire("b")) == "session_expired");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(a_thousand_sessions, SimulatedDatabase)

BOOST_AUTO_TEST_CASE(are_all_renewed_in_time_one_after_the_other) {
    // Over a socket, each step waits for four responses.
    const int count = over_a_socket() ? 100 : 1'000;
    std::vector<Session> sessions;
    for (int i = 0; i < count; ++i) {
        sessions.push_back(database.open_session("ann").value());
        pass(milliseconds{10'000 / count});
    }
    for (int step = 0; step < 20; ++step) {
        pass(1s);
        BOOST_TEST((min_remaining(host.manager(database)) >= 20s));
    }
    BOOST_TEST(database.statistics().sessions == static_cast<std::uint64_t>(count));
}

BOOST_AUTO_TEST_CASE(are_all_renewed_at_once_when_all_are_due) {
    std::vector<Session> sessions;
    for (int i = 0; i < 1'000; ++i) sessions.push_back(database.open_session("ann").value());
    const auto before = database.statistics().renewals;
    clock.advance(10s);
    database.tick();
    BOOST_TEST((min_remaining(host.manager(database)) == 30s));
    BOOST_TEST(database.statistics().renewals == before + 1'000);
    for (const Session& session : sessions) BOOST_TEST((session.remaining() == 27s));
}

BOOST_AUTO_TEST_CASE(close_one_after_the_other_and_the_rest_is_renewed) {
    std::vector<Session> sessions;
    for (int i = 0; i < 1'000; ++i) sessions.push_back(database.open_session("ann").value());
    while (sessions.size() > 100) {
        sessions.back().close().value();
        sessions.pop_back();
    }
    const auto before = database.statistics().renewals;
    clock.advance(10s);
    database.tick();
    BOOST_TEST(database.statistics().renewals == before + 100);
    BOOST_TEST((min_remaining(host.manager(database)) == 30s));
    BOOST_TEST(database.statistics().sessions == 100U);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(a_lost_grant, SimulatedDatabase)

BOOST_AUTO_TEST_CASE(is_reported_once_when_it_expires) {
    SessionOptions options;
    options.renew = false;
    Session session = database.open_session("ann", options).value();
    Notices notices;
    notices.listen(session);
    const Guard guard = session.acquire("a").value();
    pass(10min);
    BOOST_REQUIRE(notices.lost.size() == 1U);
    BOOST_TEST((notices.lost[0].ending.outcome == Outcome::expired));
    BOOST_TEST((notices.lost[0].grant.id == guard.id()));
    BOOST_TEST(notices.lost[0].grant.locks.at(0).resource == "a");
    BOOST_TEST(database.close().has_value());
    BOOST_TEST(notices.lost.size() == 1U);
}

BOOST_AUTO_TEST_CASE(is_reported_once_when_it_is_stolen) {
    LockClass open_to_all;
    open_to_all.pattern = "a";
    open_to_all.steal = StealPolicy::anyone;
    database.put_class(open_to_all).value();
    Session ann = database.open_session("ann").value();
    Session bob = database.open_session("bob").value();
    Notices notices;
    notices.listen(ann);
    const Guard guard = ann.acquire("a").value();
    const Guard other = ann.acquire("b").value();
    Steal steal;
    steal.session = bob.id();
    steal.grant = guard.id();
    steal.reason = "ann is on holiday";
    BOOST_TEST((database.service().ask(steal).value().token > guard.token()));
    pass(10min);
    BOOST_REQUIRE(notices.lost.size() == 1U);
    BOOST_TEST((notices.lost[0].ending.outcome == Outcome::stolen));
    BOOST_TEST(notices.lost[0].ending.by == "bob");
    BOOST_TEST(notices.lost[0].ending.reason == "ann is on holiday");
    BOOST_TEST(!guard.valid());
    BOOST_TEST(guard.remaining().count() == 0);
    // The other grants of the session are not affected.
    BOOST_TEST(other.valid());
}

BOOST_AUTO_TEST_CASE(is_reported_once_when_it_is_broken) {
    Session session = database.open_session("ann").value();
    Notices notices;
    notices.listen(session);
    Guard guard = session.acquire("a").value();
    database.break_grant(guard.id(), "root", "maintenance").value();
    pass(1min);
    BOOST_REQUIRE(notices.lost.size() == 1U);
    BOOST_TEST((notices.lost[0].ending.outcome == Outcome::broken));
    BOOST_TEST(notices.lost[0].ending.by == "root");
    BOOST_TEST(!guard.valid());
    BOOST_TEST((guard.release().value().outcome == Outcome::broken));
}

BOOST_AUTO_TEST_CASE(is_reported_once_when_the_manager_closes) {
    Session session = database.open_session("ann").value();
    Notices notices;
    notices.listen(session);
    const Guard first = session.acquire("a").value();
    const Guard second = session.acquire("b").value();
    database.close().value();
    BOOST_TEST(database.close().has_value());
    BOOST_REQUIRE(notices.lost.size() == 2U);
    for (const LostNotice& notice : notices.lost) {
        BOOST_TEST(notice.ending.reason == "manager closed");
        BOOST_TEST((notice.ending.outcome == Outcome::held));
    }
    BOOST_TEST(!first.valid());
    BOOST_TEST(!second.valid());
    BOOST_TEST(!session.valid());
}

BOOST_AUTO_TEST_CASE(is_not_one_that_was_released_or_transferred) {
    Session ann = database.open_session("ann").value();
    Session bob = database.open_session("bob").value();
    Notices notices;
    notices.listen(ann);
    ann.acquire("a").value().release().value();
    const Guard guard = ann.acquire("b").value();
    database.service().ask(Transfer{ann.id(), guard.id(), bob.id()}).value();
    ann.close().value();
    pass(1min);
    BOOST_TEST(notices.lost.empty());
}

BOOST_AUTO_TEST_CASE(ends_without_its_session_at_max_hold) {
    Session session = database.open_session("ann").value();
    Notices notices;
    notices.listen(session);
    AcquireOptions options;
    options.max_hold = 45s;
    const Guard capped = session.acquire("a", options).value();
    const Guard free = session.acquire("b").value();
    pass(44s);
    BOOST_TEST(manager_holds(session.id(), "a"));
    // Only the margin before the end of `max_hold` is left.
    BOOST_TEST(!capped.valid());
    pass(2s);
    BOOST_TEST(!manager_holds(session.id(), "a"));
    // Over a socket, the response to the next renewal reports it.
    pass(15s);
    BOOST_REQUIRE(notices.lost.size() == 1U);
    BOOST_TEST((notices.lost[0].ending.outcome == Outcome::expired));
    BOOST_TEST(free.valid());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(a_warning, SimulatedDatabase)

// L8: a holder is warned ten seconds before its lease ends.
BOOST_AUTO_TEST_CASE(is_sent_each_time_the_lease_runs_low) {
    SessionOptions options;
    options.renew = false;
    Session session = database.open_session("ann", options).value();
    Notices notices;
    notices.listen(session);
    for (std::size_t round = 1; round <= 3; ++round) {
        pass(19s);
        BOOST_TEST(notices.warnings.size() == round - 1);
        pass(5s);
        BOOST_TEST(notices.warnings.size() == round);
        session.renew().value();
    }
    for (const milliseconds left : notices.warnings) BOOST_TEST((left == 10s));
}

// T9: one warning, and the loss after it.
BOOST_AUTO_TEST_CASE(is_sent_before_the_loss_and_never_after) {
    SessionOptions options;
    options.renew = false;
    Session session = database.open_session("ann", options).value();
    std::vector<std::string> order;
    session.on_warning([&](milliseconds) { order.emplace_back("warning"); });
    session.on_lost([&](const LostNotice&) { order.emplace_back("lost"); });
    const Guard guard = session.acquire("a").value();
    pass(10min);
    BOOST_TEST((order == std::vector<std::string>{"warning", "lost"}));
}

// T9: if the warning is late, it is omitted.
BOOST_AUTO_TEST_CASE(is_not_sent_after_the_lease_has_ended) {
    SessionOptions options;
    options.renew = false;
    Session session = database.open_session("ann", options).value();
    Notices notices;
    notices.listen(session);
    const Guard guard = session.acquire("a").value();
    clock.advance(1h);
    pass(1min);
    BOOST_TEST(notices.warnings.empty());
    BOOST_TEST(notices.lost.size() == 1U);
}

BOOST_AUTO_TEST_CASE(is_not_sent_to_a_closed_or_detached_session) {
    SessionOptions options;
    options.renew = false;
    Notices notices;
    Session closed = database.open_session("ann", options).value();
    notices.listen(closed);
    Session detached = database.open_session("ann", options).value();
    notices.listen(detached);
    closed.close().value();
    detached.detach();
    pass(10min);
    BOOST_TEST(notices.warnings.empty());
}

BOOST_AUTO_TEST_CASE(is_sent_if_the_storage_fails_and_renewals_are_impossible) {
    auto storage = std::make_unique<FaultyStorage>(clock);
    FaultyStorage& disk = *storage;
    Database failing = Database::open_on(std::move(storage), simulated(clock)).value();
    Session session = failing.open_session("ann").value();
    Notices notices;
    notices.listen(session);
    const Guard guard = session.acquire("a").value();
    disk.fail_nth(FaultyStorage::Call::write, 1);
    testing::pass(failing, clock, 15s);
    BOOST_TEST(notices.warnings.empty());
    testing::pass(failing, clock, 10s);
    BOOST_TEST(notices.warnings.size() == 1U);
    BOOST_TEST(guard.valid());
    testing::pass(failing, clock, 10s);
    BOOST_TEST(notices.warnings.size() == 1U);
    BOOST_TEST(!guard.valid());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(a_holder, SimulatedDatabase)

BOOST_AUTO_TEST_CASE(is_notified_of_a_waiter) {
    Session ann = database.open_session("ann").value();
    Session bob = database.open_session("bob").value();
    Notices notices;
    notices.listen(ann);
    Guard guard = ann.acquire("a").value();
    int answers = 0;
    AcquireOptions options;
    options.patience = 1min;
    bob.async_acquire({lock_of("a")}, options, [&](const Result<Guard>&) { ++answers; });
    // Over a socket, the response to the next renewal reports it.
    pass(15s);
    BOOST_REQUIRE(notices.wanted.size() == 1U);
    BOOST_TEST(notices.wanted[0].by == "bob");
    BOOST_TEST(notices.wanted[0].resource == "a");
    BOOST_TEST((notices.wanted[0].grant == guard.id()));
    BOOST_TEST((notices.wanted[0].mode == Mode::write));
    BOOST_TEST(answers == 0);
    // The callback uses a local variable, so close() must complete it before.
    database.close().value();
    BOOST_TEST(answers == 1);
}

BOOST_AUTO_TEST_CASE(may_release_when_it_hears_that_another_waits) {
    Session ann = database.open_session("ann").value();
    Session bob = database.open_session("bob").value();
    Guard guard = ann.acquire("a").value();
    ann.on_wanted([&](const Wanted&) { guard.release().value(); });
    std::vector<Guard> got;
    AcquireOptions options;
    options.patience = 1min;
    bob.async_acquire({lock_of("a")}, options,
                      [&](Result<Guard> answer) { got.push_back(std::move(answer).value()); });
    pass(15s);
    BOOST_REQUIRE(got.size() == 1U);
    BOOST_TEST(got[0].valid());
    BOOST_TEST(got[0].grant().waited);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(the_holders_view_of_its_lock, SimulatedDatabase)

BOOST_AUTO_TEST_CASE(ends_a_margin_before_the_lease) {
    SessionOptions options;
    options.renew = false;
    Session session = database.open_session("ann", options).value();
    const Guard guard = session.acquire("a").value();
    BOOST_TEST((guard.remaining() == 27s));
    clock.advance(27s - 1ms);
    BOOST_TEST(guard.valid());
    BOOST_TEST((guard.remaining() == 1ms));
    clock.advance(1ms);
    BOOST_TEST(!guard.valid());
    BOOST_TEST(!session.valid());
    BOOST_TEST(guard.remaining().count() == 0);
    BOOST_TEST(session.remaining().count() == 0);
    BOOST_TEST(manager_holds(session.id(), "a"));
    clock.advance(1h);
    BOOST_TEST(guard.remaining().count() == 0);
}

BOOST_AUTO_TEST_CASE(is_never_more_than_the_manager_holds, *boost::unit_test::label("embedded")) {
    for (unsigned seed = 1; seed <= 40; ++seed) {
        std::mt19937 random(seed);
        const auto some = [&](int most) { return static_cast<int>(random() % unsigned(most)); };
        SessionOptions options;
        options.renew = seed % 2 == 0;
        Session session = database.open_session("ann", options).value();
        std::vector<Guard> guards;
        for (int step = 0; step < 60; ++step) {
            const std::string name = std::to_string(guards.size());
            AcquireOptions how;
            if (some(3) == 0) how.max_hold = milliseconds(1 + some(60'000));
            if (some(3) == 0) {
                auto guard = session.acquire(name, how);
                if (guard) guards.push_back(*std::move(guard));
            }
            if (some(4) == 0) std::ignore = session.renew(milliseconds(100 + some(60'000)));
            // The process runs, or is stopped.
            if (some(2) == 0) {
                pass(milliseconds(some(10'000)));
            } else {
                clock.advance(milliseconds(some(10'000)));
            }
            for (std::size_t i = 0; i < guards.size(); ++i) {
                if (!guards[i].valid()) continue;
                BOOST_TEST(manager_holds(session.id(), std::to_string(i)), "seed " << seed);
            }
        }
        // The manager also holds the lock for the time that remaining() returns.
        for (std::size_t i = 0; i < guards.size(); ++i) {
            const milliseconds left = guards[i].remaining();
            if (left == 0ms) continue;
            clock.advance(left - 1ms);
            BOOST_TEST(manager_holds(session.id(), std::to_string(i)), "seed " << seed);
            BOOST_TEST((guards[i].remaining() <= 1ms));
        }
    }
}

// A response may arrive after a later request has already shortened the lease.
BOOST_AUTO_TEST_CASE(is_not_extended_by_an_answer_from_before_a_shorter_lease,
                     *boost::unit_test::label("embedded")) {
    SessionOptions options;
    options.renew = false;
    options.margin = 10ms;
    Session session = database.open_session("ann", options).value();
    std::vector<Guard> got;
    session.async_acquire({lock_of("a")}, {},
                          [&](Result<Guard> answer) { got.push_back(std::move(answer).value()); });
    BOOST_REQUIRE(got.empty());
    clock.advance(10ms);
    session.renew(100ms).value();
    database.tick();
    BOOST_REQUIRE(got.size() == 1U);
    clock.advance(100ms);
    BOOST_TEST(!manager_holds(session.id(), "a"));
    BOOST_TEST(!got[0].valid());
    BOOST_TEST(!session.valid());
}

// E2: the assertion fails unless the resource is held in the mode.
BOOST_AUTO_TEST_CASE(can_be_checked_by_code_that_must_not_run_without_its_lock) {
    Session session = database.open_session("ann").value();
    LockRequest subtree = lock_of("orders", Mode::write);
    subtree.subtree = true;
    Guard guard = session.acquire({subtree, lock_of("prices", Mode::read)}).value();
    BOOST_TEST(failure_of(guard.assert_held("orders", Mode::write)) == "");
    BOOST_TEST(failure_of(guard.assert_held("orders/42", Mode::read)) == "");
    BOOST_TEST(failure_of(guard.assert_held("ordersX", Mode::read)) == "not_owner");
    BOOST_TEST(failure_of(guard.assert_held("prices", Mode::read)) == "");
    BOOST_TEST(failure_of(guard.assert_held("prices/7", Mode::read)) == "not_owner");
    BOOST_TEST(failure_of(guard.assert_held("prices", Mode::write)) == "not_owner");
    BOOST_TEST(failure_of(session.assert_held("orders/42", Mode::write)) == "");
    BOOST_TEST(failure_of(session.assert_held("customers", Mode::read)) == "not_owner");
    database.break_grant(guard.id(), "root", "test").value();
    BOOST_TEST(failure_of(guard.assert_held("orders", Mode::write)) == "not_owner");
    BOOST_TEST(failure_of(session.assert_held("orders", Mode::write)) == "not_owner");
}

BOOST_AUTO_TEST_CASE(is_over_for_assert_held_within_the_margin) {
    SessionOptions options;
    options.renew = false;
    Session session = database.open_session("ann", options).value();
    const Guard guard = session.acquire("a").value();
    clock.advance(28s);
    BOOST_TEST(manager_holds(session.id(), "a"));
    BOOST_TEST(failure_of(guard.assert_held("a", Mode::write)) == "not_owner");
    BOOST_TEST(failure_of(session.assert_held("a", Mode::write)) == "not_owner");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
