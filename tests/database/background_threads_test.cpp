// Asynchronous calls, administrators, many threads, and events, with a database that has background
// threads.
#include <chrono>
#include <future>
#include <map>
#include <mutex>
#include <stop_token>
#include <thread>

#include <boost/test/unit_test.hpp>

#include "database/running_database.hpp"

namespace rocklock::testing {

using namespace running;

BOOST_FIXTURE_TEST_SUITE(an_asynchronous_acquire, RunningDatabase)

// E3: each asynchronous acquire calls its callback once, with a grant or an error.
BOOST_AUTO_TEST_CASE(completes_once) {
    Session ann = database.open_session("ann").value();
    Session bob = database.open_session("bob").value();
    Events events;
    const auto note = [&](const Result<Guard>& answer) { events.happen(failure_of(answer)); };
    ann.async_acquire({lock_of("a")}, {}, [&](Result<Guard> answer) {
        answer->detach();
        events.happen(failure_of(answer));
    });
    BOOST_REQUIRE(events.wait_for(1));
    bob.async_acquire({lock_of("a")}, {}, note);
    BOOST_REQUIRE(events.wait_for(2));
    AcquireOptions impatient;
    impatient.patience = 20ms;
    bob.async_acquire({lock_of("a")}, impatient, note);
    BOOST_REQUIRE(events.wait_for(3));
    bob.async_acquire({lock_of("")}, {}, note);
    BOOST_REQUIRE(events.wait_for(4));
    database.close().value();
    bob.async_acquire({lock_of("b")}, {}, note);
    BOOST_REQUIRE(events.wait_for(5));
    BOOST_TEST((events.seen() == std::vector<std::string>{"", "conflict", "patience_expired",
                                                          "invalid_argument", "closing"}));
}

BOOST_AUTO_TEST_CASE(is_cancelled) {
    Session ann = database.open_session("ann").value();
    Session bob = database.open_session("bob").value();
    Guard held = ann.acquire("a").value();
    Events events;
    AcquireOptions patient;
    patient.patience = no_limit;
    const Ticket ticket =
        bob.async_acquire({lock_of("a")}, patient,
                          [&](const Result<Guard>& answer) { events.happen(failure_of(answer)); });
    bob.cancel(ticket);
    BOOST_REQUIRE(events.wait_for(1));
    BOOST_TEST(events.seen().at(0) == "cancelled");
    // If the request has completed or is unknown, cancel() has no effect.
    bob.cancel(ticket);
    bob.cancel(Ticket{12345678});
    held.release().value();
    database.close().value();
    BOOST_TEST(events.seen().size() == 1U);
}

BOOST_AUTO_TEST_CASE(of_many_threads_completes_once_each) {
    constexpr int threads = 4;
    constexpr int each = 200;
    std::vector<Session> sessions;
    for (int i = 0; i < threads; ++i) {
        sessions.push_back(database.open_session("ann" + std::to_string(i)).value());
    }
    std::mutex mutex;
    std::multiset<int> answers;
    Events events;
    {
        std::vector<std::jthread> running;
        for (int thread = 0; thread < threads; ++thread) {
            running.emplace_back([&, thread] {
                for (int i = 0; i < each; ++i) {
                    AcquireOptions patient;
                    patient.patience = no_limit;
                    const int id = thread * each + i;
                    auto& session = sessions[static_cast<std::size_t>(thread)];
                    const Ticket ticket =
                        session.async_acquire({lock_of("a" + std::to_string(id % 3))}, patient,
                                              [&, id](const Result<Guard>&) {
                                                  std::size_t count = 0;
                                                  {
                                                      const std::scoped_lock lock(mutex);
                                                      answers.insert(id);
                                                      count = answers.size();
                                                  }
                                                  if (count == threads * each) events.happen("all");
                                              });
                    if (i % 5 == 0) session.cancel(ticket);
                }
            });
        }
    }
    BOOST_REQUIRE(events.wait_for(1));
    database.close().value();
    const std::scoped_lock lock(mutex);
    for (int id = 0; id < threads * each; ++id) BOOST_TEST(answers.count(id) == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_loss)

// The manager's thread may report the loss when the keeper has already stopped.
BOOST_AUTO_TEST_CASE(is_delivered_although_the_database_closes_next) {
    for (int i = 0; i < 300; ++i) {
        Database database = open_test_database().value();
        Session session = database.open_session("ann").value();
        std::vector<Outcome> outcomes;
        session.on_lost(
            [&](const LostNotice& notice) { outcomes.push_back(notice.ending.outcome); });
        const Guard guard = session.acquire("a").value();
        database.break_grant(guard.id(), "root", "to test it").value();
        database.close().value();
        BOOST_REQUIRE(outcomes == std::vector<Outcome>{Outcome::broken});
    }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(an_administrator)

BOOST_AUTO_TEST_CASE(ends_a_session_and_all_sessions_of_a_principal) {
    Database database = open_test_database().value();
    Session first = database.open_session("ann").value();
    Session second = database.open_session("ann").value();
    Session other = database.open_session("bob").value();
    const Guard guard = first.acquire("a").value();
    const Guard kept = other.acquire("b").value();
    const auto ended = database.end_session(first.id(), "root", "to test it").value();
    BOOST_TEST((ended.released == std::vector<GrantId>{guard.id()}));
    // Another thread reports the loss.
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes{1};
    while (guard.valid() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    BOOST_TEST(!guard.valid());
    BOOST_TEST(database.end_sessions("ann", "root", "to test it").value() == 1U);
    BOOST_TEST(database.sessions("ann").value().empty());
    BOOST_TEST(kept.valid());
    BOOST_TEST(database
                   .end_sessions_of_user(database.sessions("bob").value().at(0).uid + 1, "root",
                                         "to test it")
                   .value() == 0U);
    BOOST_TEST(
        database
            .end_sessions_of_user(database.sessions("bob").value().at(0).uid, "root", "to test it")
            .value() == 1U);
    BOOST_TEST(database.sessions().value().empty());
    BOOST_TEST((database.end_session(first.id(), "root", "again").error().code ==
                ErrorCode::session_expired));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(many_threads, RunningDatabase)

BOOST_AUTO_TEST_CASE(never_hold_the_same_lock_at_once) {
    int inside = 0;
    int entries = 0;
    int violations = 0;
    Token last{};
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
        threads.emplace_back([&] {
            Session session = database.open_session("worker").value();
            for (int i = 0; i < 100; ++i) {
                AcquireOptions patient;
                patient.patience = no_limit;
                const Guard guard = session.acquire("counter", patient).value();
                // Only the lock protects these variables.
                if (++inside != 1) ++violations;
                ++entries;
                if (guard.token() <= last) ++violations;
                last = guard.token();
                --inside;
            }
        });
    }
    threads.clear();
    BOOST_TEST(violations == 0);
    BOOST_TEST(entries == 400);
    BOOST_TEST(database.statistics().sweep_finds == 0U);
}

BOOST_AUTO_TEST_CASE(may_share_a_session_and_its_guards) {
    Session session = database.open_session("ann", short_lease(true)).value();
    const Guard shared = session.acquire("shared").value();
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
        threads.emplace_back([&, thread] {
            for (int i = 0; i < 200; ++i) {
                const Guard own = session.acquire(std::to_string(thread)).value();
                std::ignore = shared.valid();
                std::ignore = shared.remaining();
                std::ignore = shared.assert_held("shared", Mode::write);
                std::ignore = session.renew();
                std::ignore = database.list();
            }
        });
    }
    threads.clear();
    BOOST_TEST(database.statistics().held == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_client_that_watches_events)

BOOST_AUTO_TEST_CASE(receives_each_grant_and_its_end_once_while_many_threads_lock) {
    constexpr int threads = 4;
    constexpr int rounds = 100;
    DatabaseOptions options;
    options.events_kept = 100'000;
    Database database = open_test_database(options).value();
    std::map<GrantId, std::vector<EventType>> heard;
    std::uint64_t last = 0;
    bool in_order = true;
    std::jthread watcher([&] {
        WatchRequest watch;
        watch.patience = no_limit;
        // With small pages, the watcher waits, falls behind and catches up.
        watch.limit = 7;
        std::size_t ends = 0;
        while (ends < threads * rounds) {
            const EventPage page = database.service().watch(watch).value();
            in_order = in_order && !page.gap;
            for (const LockEvent& event : page.events) {
                in_order = in_order && event.sequence > last;
                last = event.sequence;
                if (event.type == EventType::wanted) continue;
                heard[event.grant].push_back(event.type);
                if (event.type == EventType::released) ++ends;
            }
            watch.after = page.after;
        }
    });
    {
        std::vector<std::jthread> holders;
        for (int thread = 0; thread < threads; ++thread) {
            holders.emplace_back([&, thread] {
                Session session = database.open_session(std::to_string(thread)).value();
                AcquireOptions patient;
                patient.patience = no_limit;
                for (int i = 0; i < rounds; ++i) {
                    session.acquire(std::to_string(i % 3), patient).value().release().value();
                }
            });
        }
    }
    watcher.join();
    BOOST_TEST(in_order);
    BOOST_TEST(heard.size() == static_cast<std::size_t>(threads * rounds));
    const std::vector<EventType> life{EventType::granted, EventType::released};
    for (const auto& [grant, events] : heard) BOOST_CHECK(events == life);
}

BOOST_AUTO_TEST_CASE(times_out_without_events_and_can_be_stopped) {
    DatabaseOptions options;
    options.events_kept = 10;
    Database database = open_test_database(options).value();
    WatchRequest watch;
    watch.patience = 20ms;
    const auto start = std::chrono::steady_clock::now();
    BOOST_TEST(database.service().watch(watch).value().events.empty());
    BOOST_CHECK(std::chrono::steady_clock::now() - start >= 20ms);
    watch.patience = no_limit;
    std::stop_source stop;
    std::jthread stopper([&] { stop.request_stop(); });
    BOOST_TEST(failure_of(database.service().watch(watch, stop.get_token())) == "cancelled");
}

BOOST_AUTO_TEST_CASE(is_answered_when_the_database_closes) {
    DatabaseOptions options;
    options.events_kept = 10;
    Database database = open_test_database(options).value();
    std::promise<std::string> outcomes;
    WatchRequest watch;
    watch.patience = no_limit;
    database.service().submit_watch(
        watch, [&](const Result<EventPage>& page) { outcomes.set_value(failure_of(page)); });
    database.close().value();
    BOOST_TEST(outcomes.get_future().get() == "closing");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_deferred_release)

// The clock stands still, so the manager's thread has not written the end when it is queried.
BOOST_AUTO_TEST_CASE(is_visible_to_queries_at_once) {
    SimulatedClock clock;
    DatabaseOptions options;
    options.clock = &clock;
    Database database = open_test_database(options).value();
    LockService& service = database.service();
    OpenSession open;
    open.principal = "ann";
    const SessionId ann = service.ask(open).value().id;
    Acquire acquire;
    acquire.session = ann;
    acquire.locks = {{.resource = "a"}};
    const GrantId first = service.ask(acquire).value().id;
    BOOST_CHECK(service.ask(Release{ann, first}).value().outcome == Outcome::released);
    BOOST_CHECK(service.ask(Release{ann, first}).value().outcome == Outcome::already_released);

    const GrantId second = service.ask(acquire).value().id;
    BOOST_CHECK(service.ask(CloseSession{ann}));
    BOOST_CHECK(service.ask(Release{ann, second}).value().outcome == Outcome::already_released);
    RenewSession renew;
    renew.session = ann;
    BOOST_CHECK(service.ask(renew).error().code == ErrorCode::session_expired);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_manager_on_disk_with_its_thread, *boost::unit_test::label("rocksdb"))

BOOST_AUTO_TEST_CASE(a_session_continues_in_the_next_process) {
    const TemporaryDirectory directory;
    SessionCredentials credentials;
    Grant grant;
    {
        Database database = Database::open(directory / "store").value();
        Session session = database.open_session("ann").value();
        grant = session.acquire("orders/42").value().detach();
        credentials = session.detach();
    }
    Database database = Database::open(directory / "store").value();
    Session session = database.resume_session(credentials).value();
    const auto guards = session.reclaim().value();
    BOOST_REQUIRE(guards.size() == 1U);
    BOOST_TEST((guards[0].token() == grant.token));
    BOOST_TEST(guards[0].valid());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
