// Each option has an effect, and invalid values are refused when they are set.
#include <filesystem>
#include <limits>
#include <memory>
#include <thread>

#include <boost/test/unit_test.hpp>

#include <rocklock/database.hpp>
#include <rocklock/testing/faulty_storage.hpp>

#include "database/simulated_database.hpp"
#include "support/temporary_directory.hpp"

namespace rocklock::testing {

BOOST_FIXTURE_TEST_SUITE(the_options_of_a_session, SimulatedDatabase)

// E7: durations have units in their types. A number without a unit does not compile.
BOOST_AUTO_TEST_CASE(set_its_lease) {
    SessionOptions options;
    options.lease = 5min;
    options.renew = false;
    Session session = database.open_session("ann", options).value();
    BOOST_TEST((manager_says(session.id()) == 5min));
    pass(5min - 1s);
    BOOST_TEST(manager_says(session.id()).has_value());
    pass(2s);
    BOOST_TEST(!manager_says(session.id()).has_value());
}

BOOST_AUTO_TEST_CASE(set_how_often_it_is_renewed) {
    SessionOptions options;
    options.renew_every = 2s;
    Session session = database.open_session("ann", options).value();
    for (int step = 0; step < 100; ++step) {
        pass(250ms);
        BOOST_TEST((manager_says(session.id()).value() >= 28s));
    }
}

BOOST_AUTO_TEST_CASE(set_whether_it_is_renewed) {
    SessionOptions options;
    options.renew = false;
    Session session = database.open_session("ann", options).value();
    pass(31s);
    BOOST_TEST(!manager_says(session.id()).has_value());
}

BOOST_AUTO_TEST_CASE(set_when_it_is_warned) {
    SessionOptions options;
    options.renew = false;
    options.warn_at = 5s;
    Session session = database.open_session("ann", options).value();
    Notices notices;
    notices.listen(session);
    pass(24s);
    BOOST_TEST(notices.warnings.empty());
    pass(2s);
    BOOST_REQUIRE(notices.warnings.size() == 1U);
    BOOST_TEST((notices.warnings[0] == 5s));
}

BOOST_AUTO_TEST_CASE(set_its_margin) {
    SessionOptions options;
    options.margin = 8s;
    const Session session = database.open_session("ann", options).value();
    BOOST_TEST((session.remaining() == 22s));
}

BOOST_AUTO_TEST_CASE(have_a_margin_that_fits_the_lease_by_default) {
    const auto margin_of = [&](milliseconds lease) {
        SessionOptions options;
        options.lease = lease;
        return lease - database.open_session("ann", options).value().remaining();
    };
    BOOST_TEST((margin_of(100ms) == 25ms));
    BOOST_TEST((margin_of(1s) == 200ms));
    BOOST_TEST((margin_of(2s) == 200ms));
    BOOST_TEST((margin_of(30s) == 3s));
    BOOST_TEST((margin_of(24h) == 144min));
}

// O7: the note and the metadata of a session.
BOOST_AUTO_TEST_CASE(are_shown_to_others) {
    SessionOptions options;
    options.note = "closing the month";
    options.metadata = {{"ticket", "T-7"}};
    const Session session = database.open_session("ann", options).value();
    const SessionView view = database.sessions().value().at(0);
    BOOST_TEST(view.principal == "ann");
    BOOST_TEST(view.note == "closing the month");
    BOOST_TEST(view.metadata.at("ticket") == "T-7");
    BOOST_TEST(view.pid > 0);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(a_session_is_refused, SimulatedDatabase)

struct Case {
    milliseconds lease;
    milliseconds renew_every;
    milliseconds warn_at;
    milliseconds margin;
    bool renew;
    bool good;
};

// E5: settings are checked when a session is opened.
BOOST_AUTO_TEST_CASE(if_its_times_are_inconsistent) {
    const milliseconds most = milliseconds::max();
    const milliseconds least = milliseconds::min();
    const Case cases[] = {
        {30s, 0s, 0s, 0s, true, true},
        {30s, 10s, 0s, 0s, true, true},
        // Fewer than three renewals per lease.
        {30s, 10s + 1ms, 0s, 0s, true, false},
        {30s, most, 0s, 0s, true, false},
        // Without automatic renewal, the interval does not matter.
        {30s, 20s, 0s, 0s, false, true},
        // A warning within the margin, or at every renewal.
        {30s, 0s, 3s, 0s, true, false},
        {30s, 0s, 3s + 1ms, 0s, true, true},
        {30s, 0s, 20s, 0s, true, false},
        {30s, 0s, 20s - 1ms, 0s, true, true},
        {30s, 0s, most, 0s, true, false},
        {30s, 0s, 0s, 10s, true, false},
        {30s, 0s, 0s, 30s, false, false},
        {30s, 0s, 0s, most, true, false},
        // Negative values.
        {30s, -1ms, 0s, 0s, true, false},
        {30s, 0s, -1ms, 0s, true, false},
        {30s, 0s, 0s, -1ms, true, false},
        {30s, least, least, least, true, false},
        // The limits of the lease itself.
        {0s, 0s, 0s, 0s, true, false},
        {-30s, 0s, 0s, 0s, true, false},
        {-30s, 0s, 0s, 0s, false, false},
        {99ms, 0s, 0s, 0s, true, false},
        {100ms, 0s, 0s, 0s, true, true},
        {24h * 30, 0s, 0s, 0s, true, true},
        {24h * 30 + 1ms, 0s, 0s, 0s, true, false},
        {most, 0s, 0s, 0s, true, false},
        {most, 0s, 0s, 0s, false, false},
        {least, 0s, 0s, 0s, true, false},
    };
    int number = 0;
    for (const Case& one : cases) {
        SessionOptions options;
        options.lease = one.lease;
        options.renew_every = one.renew_every;
        options.warn_at = one.warn_at;
        options.margin = one.margin;
        options.renew = one.renew;
        const auto opened = database.open_session("ann", options);
        BOOST_TEST(opened.has_value() == one.good, "case " << number);
        if (!opened) BOOST_TEST(failure_of(opened) == "invalid_argument", "case " << number);
        ++number;
    }
    BOOST_TEST(database.sessions().value().empty());
}

BOOST_AUTO_TEST_CASE(with_the_allowed_range_in_its_error) {
    SessionOptions options;
    options.lease = -1ms;
    const auto refused = database.open_session("ann", options);
    BOOST_REQUIRE(!refused);
    BOOST_TEST(refused.error().message.find("100 ms to 30 days") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(the_options_of_an_acquire, SimulatedDatabase)

BOOST_AUTO_TEST_CASE(set_the_wait_timeout) {
    Session ann = database.open_session("ann").value();
    Session bob = database.open_session("bob").value();
    const Guard guard = ann.acquire("a").value();
    BOOST_TEST(failure_of(bob.acquire("a")) == "conflict");
    std::string answer = "none";
    AcquireOptions options;
    options.patience = 5s;
    bob.async_acquire({lock_of("a")}, options,
                      [&](const Result<Guard>& result) { answer = failure_of(result); });
    pass(4999ms);
    BOOST_TEST(answer == "none");
    pass(1ms);
    BOOST_TEST(answer == "patience_expired");
}

BOOST_AUTO_TEST_CASE(may_set_no_or_a_very_long_wait_timeout) {
    Session ann = database.open_session("ann").value();
    const Guard guard = ann.acquire("a").value();
    Session bob = database.open_session("bob").value();
    int answers = 0;
    for (const milliseconds patience : {no_limit, no_limit - 1ms, milliseconds{24h * 365 * 1000},
                                        milliseconds{24h * 365 * 291}}) {
        AcquireOptions options;
        options.patience = patience;
        bob.async_acquire({lock_of("a")}, options, [&](const Result<Guard>&) { ++answers; });
    }
    pass(1h);
    BOOST_TEST(answers == 0);
    BOOST_TEST(database.statistics().waiting == 4U);
    // The callbacks use local variables, so close() completes all requests before these are
    // destroyed.
    database.close().value();
    BOOST_TEST(answers == 4);
}

BOOST_AUTO_TEST_CASE(are_refused_if_they_are_invalid) {
    Session session = database.open_session("ann").value();
    AcquireOptions options;
    options.patience = -1ms;
    BOOST_TEST(failure_of(session.acquire("a", options)) == "invalid_argument");
    for (const milliseconds hold : {0ms, -1ms, milliseconds::max(), milliseconds::min()}) {
        AcquireOptions held;
        held.max_hold = hold;
        BOOST_TEST(failure_of(session.acquire("a", held)) == "invalid_argument");
    }
    BOOST_TEST(database.list().value().locks.empty());
}

BOOST_AUTO_TEST_CASE(set_the_effect_of_a_second_acquire) {
    Session session = database.open_session("ann").value();
    Guard first = session.acquire("a").value();
    const auto refused = session.acquire("a");
    BOOST_TEST(failure_of(refused) == "already_held");
    BOOST_TEST((refused.error().grant == first.id()));
    AcquireOptions options;
    options.held = Held::join;
    Guard joined = session.acquire("a", options).value();
    BOOST_TEST((joined.id() == first.id()));
    BOOST_TEST(joined.grant().count == 0U);
    options.held = Held::count;
    Guard counted = session.acquire("a", options).value();
    BOOST_TEST((counted.id() == first.id()));
    BOOST_TEST(counted.grant().count == 1U);
    BOOST_TEST((counted.release().value().outcome == Outcome::held));
    BOOST_TEST(manager_holds(session.id(), "a"));
    BOOST_TEST((first.release().value().outcome == Outcome::released));
    BOOST_TEST((joined.release().value().outcome == Outcome::already_released));
}

// O7: the note and the metadata of a lock.
BOOST_AUTO_TEST_CASE(are_shown_in_the_error_of_a_refused_request) {
    Session ann = database.open_session("ann").value();
    Session bob = database.open_session("bob").value();
    AcquireOptions options;
    options.note = "until noon";
    options.metadata = {{"host", "desk-3"}};
    const Guard guard = ann.acquire("a", options).value();
    const auto refused = bob.acquire("a");
    BOOST_REQUIRE(!refused);
    BOOST_REQUIRE(refused.error().blockers.size() == 1U);
    const Holder& holder = refused.error().blockers[0];
    BOOST_TEST(holder.principal == "ann");
    BOOST_TEST(holder.note == "until noon");
    BOOST_TEST(holder.metadata.at("host") == "desk-3");
    BOOST_TEST((holder.remaining == 30s));
    BOOST_TEST((holder.grant == guard.id()));
    BOOST_TEST(!holder.you);
    BOOST_TEST(refused.error().message.find("ann") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(may_limit_how_long_it_is_held) {
    Session session = database.open_session("ann").value();
    AcquireOptions options;
    options.max_hold = 1min;
    const Guard guard = session.acquire("a", options).value();
    BOOST_TEST((guard.grant().cap == clock.now().boot + 1min));
    pass(59s);
    BOOST_TEST(manager_holds(session.id(), "a"));
    pass(1s);
    BOOST_TEST(!manager_holds(session.id(), "a"));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(the_options_of_a_database)

BOOST_AUTO_TEST_CASE(set_the_durability_of_a_grant) {
    const auto syncs_of_a_grant = [](Durability durability) {
        SimulatedClock clock;
        auto storage = std::make_unique<FaultyStorage>(clock);
        const FaultyStorage& disk = *storage;
        DatabaseOptions options = simulated(clock);
        options.durability = durability;
        Database database = Database::open_on(std::move(storage), options).value();
        Session session = database.open_session("ann").value();
        const auto before = disk.calls(FaultyStorage::Call::sync);
        const Guard guard = session.acquire("a").value();
        return disk.calls(FaultyStorage::Call::sync) - before;
    };
    BOOST_TEST(syncs_of_a_grant(Durability::durable) == 1U);
    BOOST_TEST(syncs_of_a_grant(Durability::written) == 0U);
}

// E5: settings are checked when a database is opened.
BOOST_AUTO_TEST_CASE(may_not_set_deferred_durability) {
    DatabaseOptions options;
    options.durability = Durability::deferred;
    BOOST_TEST(failure_of(Database::in_memory(options)) == "invalid_argument");
}

BOOST_AUTO_TEST_CASE(set_whether_there_is_a_background_thread) {
    SimulatedDatabase simulated;
    SessionOptions options;
    options.renew = false;
    Session session = simulated.database.open_session("ann", options).value();
    Notices notices;
    notices.listen(session);
    const Guard guard = session.acquire("a").value();
    simulated.clock.advance(1h);
    // The lease has ended for all queries, but the loss is reported by tick().
    BOOST_TEST(!simulated.manager_holds(session.id(), "a"));
    BOOST_TEST(notices.lost.empty());
    std::thread::id called_in;
    session.on_lost([&](const LostNotice&) { called_in = std::this_thread::get_id(); });
    simulated.pass(0ms);
    simulated.database.tick();
    BOOST_TEST((called_in == std::this_thread::get_id()));
}

BOOST_AUTO_TEST_CASE(return_the_next_time_for_tick) {
    SimulatedDatabase simulated;
    SessionOptions options;
    options.renew = false;
    const Session session = simulated.database.open_session("ann", options).value();
    BOOST_REQUIRE(simulated.database.tick().has_value());
    // The warning precedes the end of the lease.
    BOOST_TEST((*simulated.database.tick() == simulated.clock.now().boot + 20s));
}

BOOST_AUTO_TEST_CASE(end_the_sessions_of_a_restored_store, *boost::unit_test::label("embedded")) {
    SimulatedClock clock;
    auto storage = std::make_unique<FaultyStorage>(clock);
    const FaultyStorage& disk = *storage;
    std::unique_ptr<FaultyStorage> copy;
    SessionCredentials credentials;
    Token later{};
    {
        Database database = Database::open_on(std::move(storage), simulated(clock)).value();
        Session session = database.open_session("ann").value();
        session.acquire("a").value().detach();
        credentials = session.credentials();
        copy = disk.reopen_after_power_cut();
        // Grants that the copy does not contain.
        for (int i = 0; i < 70'000; ++i) {
            later = session.acquire("b").value().token();
        }
    }
    DatabaseOptions options = simulated(clock);
    options.restored = true;
    clock.advance(1min);
    Database database = Database::open_on(std::move(copy), options).value();
    BOOST_TEST(database.list().value().locks.empty());
    const std::string code = failure_of(database.resume_session(credentials));
    BOOST_TEST((code == "session_expired" || code == "session_not_found"));
    Session session = database.open_session("bob").value();
    BOOST_TEST((session.acquire("a").value().token() > later));
    const auto past = database.show("a").value().last_holder;
    BOOST_REQUIRE(past.has_value());
}

BOOST_AUTO_TEST_CASE(set_whether_a_missing_store_is_created, *boost::unit_test::label("rocksdb")) {
    const TemporaryDirectory directory;
    DatabaseOptions options;
    options.create_if_missing = false;
    BOOST_TEST(failure_of(Database::open(directory / "store", options)) == "not_a_store");
    BOOST_TEST(!std::filesystem::exists(directory / "store"));
    BOOST_TEST(failure_of(Database::open(directory / "store")) == "");
    BOOST_TEST(failure_of(Database::open(directory / "store", options)) == "");
}

BOOST_AUTO_TEST_CASE(set_the_clock) {
    SimulatedDatabase simulated;
    Session session = simulated.database.open_session("ann").value();
    const Guard guard = session.acquire("a").value();
    simulated.clock.jump_wall(-24h * 365);
    BOOST_TEST(guard.valid());
    simulated.clock.jump_wall(24h * 365 * 20);
    BOOST_TEST(guard.valid());
    BOOST_TEST((guard.remaining() == 27s));
    simulated.clock.advance(30s);
    BOOST_TEST(!guard.valid());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
