// The same on the machine's own clock and with threads: what happens by itself, and who waits.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <thread>

#include <boost/test/unit_test.hpp>

#include <rocklock/database.hpp>

#include "database/simulated_database.hpp"
#include "support/temporary_directory.hpp"

namespace rocklock::testing {

namespace {

// Something that happens in another thread, waited for.
class Events {
public:
    void happen(std::string what) {
        const std::scoped_lock lock(mutex_);
        seen_.push_back(std::move(what));
        changed_.notify_all();
    }
    // Whether there are so many within ten seconds.
    bool wait_for(std::size_t count) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, 10s, [&] { return seen_.size() >= count; });
    }
    std::vector<std::string> seen() {
        const std::scoped_lock lock(mutex_);
        return seen_;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::string> seen_;
};

struct RunningDatabase {
    Hosted host{system_clock(), {}};
    Database database = host.connect_or_open({});

    // Until somebody waits in a queue.
    void until_waiting(std::uint64_t count) {
        const auto give_up = std::chrono::steady_clock::now() + 10s;
        while (database.statistics().waiting < count) {
            BOOST_REQUIRE((std::chrono::steady_clock::now() < give_up));
            std::this_thread::yield();
        }
    }
};

SessionOptions short_lease(bool renew) {
    SessionOptions options;
    options.lease = 300ms;
    options.renew = renew;
    return options;
}

// Renewed every second: over a socket that is when somebody else's wish is heard of.
SessionOptions often_renewed() {
    SessionOptions options;
    options.lease = 3s;
    return options;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(by_itself, RunningDatabase)

BOOST_AUTO_TEST_CASE(a_session_is_renewed_long_past_its_lease) {
    Session kept = database.open_session("ann", short_lease(true)).value();
    Session clock = database.open_session("bob", short_lease(false)).value();
    Events events;
    clock.on_lost([&](const LostNotice&) { events.happen("lost"); });
    // Three leases of bob's pass, one after the other.
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
    // By now the keeper sleeps, for nine seconds.
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
    // Each of them more than twice: longer than a lease.
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
    // Not early.
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
    // It may still be in release().
    ann.on_wanted({});
    BOOST_TEST(!guard.valid());
}

BOOST_AUTO_TEST_CASE(a_callback_that_is_taken_away_does_not_run_any_more) {
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

BOOST_AUTO_TEST_CASE(a_close_tells_holders_and_waiters) {
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

// Whoever waits looks at the clock himself.
BOOST_AUTO_TEST_CASE(not_even_a_thread_is_needed_for_a_wait) {
    DatabaseOptions options;
    options.background = false;
    Database quiet = Database::in_memory(options).value();
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
    // And it is never granted later.
    held.release().value();
    BOOST_TEST(cleo.acquire("a").has_value());
}

BOOST_AUTO_TEST_CASE(that_came_before_ends_the_wait_at_once) {
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

BOOST_AUTO_TEST_CASE(that_races_with_the_grant_leaves_one_truth) {
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

BOOST_FIXTURE_TEST_SUITE(an_asynchronous_acquire, RunningDatabase)

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

BOOST_AUTO_TEST_CASE(is_withdrawn_by_a_cancel) {
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
    // Too late, or never known: nothing happens.
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

// The manager's thread may come with it when nobody keeps sessions any more.
BOOST_AUTO_TEST_CASE(is_told_by_a_database_that_closes_right_after_it) {
    for (int i = 0; i < 300; ++i) {
        Database database = Database::in_memory().value();
        Session session = database.open_session("ann").value();
        std::vector<Outcome> told;
        session.on_lost([&](const LostNotice& notice) { told.push_back(notice.ending.outcome); });
        const Guard guard = session.acquire("a").value();
        database.break_grant(guard.id(), "root", "to test it").value();
        database.close().value();
        BOOST_REQUIRE(told == std::vector<Outcome>{Outcome::broken});
    }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(an_administrator)

BOOST_AUTO_TEST_CASE(ends_a_session_and_all_sessions_of_a_principal) {
    Database database = Database::in_memory().value();
    Session first = database.open_session("ann").value();
    Session second = database.open_session("ann").value();
    Session other = database.open_session("bob").value();
    const Guard guard = first.acquire("a").value();
    const Guard kept = other.acquire("b").value();
    const auto ended = database.end_session(first.id(), "root", "to test it").value();
    BOOST_TEST((ended.released == std::vector<GrantId>{guard.id()}));
    // The loss is reported from another thread.
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes{1};
    while (guard.valid() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    BOOST_TEST(!guard.valid());
    BOOST_TEST(database.end_sessions("ann", "root", "to test it").value() == 1U);
    BOOST_TEST(database.sessions("ann").value().empty());
    BOOST_TEST(kept.valid());
    BOOST_TEST((database.end_session(first.id(), "root", "again").error().code ==
                ErrorCode::session_expired));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(many_threads, RunningDatabase)

BOOST_AUTO_TEST_CASE(never_hold_the_same_lock_at_once) {
    int inside = 0;
    int entries = 0;
    Token last{};
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
        threads.emplace_back([&] {
            Session session = database.open_session("worker").value();
            for (int i = 0; i < 100; ++i) {
                AcquireOptions patient;
                patient.patience = no_limit;
                const Guard guard = session.acquire("counter", patient).value();
                // Not guarded by anything but the lock.
                BOOST_REQUIRE(++inside == 1);
                ++entries;
                BOOST_REQUIRE((guard.token() > last));
                last = guard.token();
                --inside;
            }
        });
    }
    threads.clear();
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

BOOST_AUTO_TEST_SUITE(whoever_follows_the_events)

BOOST_AUTO_TEST_CASE(hears_each_grant_and_its_end_once_while_many_threads_lock) {
    constexpr int threads = 4;
    constexpr int rounds = 100;
    DatabaseOptions options;
    options.events_kept = 100'000;
    Database database = Database::in_memory(options).value();
    std::map<GrantId, std::vector<EventType>> heard;
    std::uint64_t last = 0;
    bool in_order = true;
    std::jthread watcher([&] {
        WatchRequest watch;
        watch.patience = no_limit;
        // In small pages, so that it waits, falls behind and catches up.
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

BOOST_AUTO_TEST_CASE(is_told_in_time_that_nothing_happened_and_can_be_stopped) {
    DatabaseOptions options;
    options.events_kept = 10;
    Database database = Database::in_memory(options).value();
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
    Database database = Database::in_memory(options).value();
    std::promise<std::string> told;
    WatchRequest watch;
    watch.patience = no_limit;
    database.service().submit_watch(
        watch, [&](const Result<EventPage>& page) { told.set_value(failure_of(page)); });
    database.close().value();
    BOOST_TEST(told.get_future().get() == "closing");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_deferred_end)

// The clock stands still, so the manager's thread does not write it while it is asked for.
BOOST_AUTO_TEST_CASE(is_known_at_once_to_whoever_asks_for_it) {
    SimulatedClock clock;
    DatabaseOptions options;
    options.clock = &clock;
    Database database = Database::in_memory(options).value();
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

BOOST_AUTO_TEST_SUITE(on_disk_and_by_itself, *boost::unit_test::label("rocksdb"))

BOOST_AUTO_TEST_CASE(a_session_goes_on_where_the_process_before_left_it) {
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
