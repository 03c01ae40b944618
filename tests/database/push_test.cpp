// Notices to a session are pushed by the daemon when they are decided, not with the next renewal.
#include <algorithm>
#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/session.hpp>

#include "database/running_database.hpp"

namespace rocklock::testing {
namespace {

using running::Events;
using running::RunningDatabase;

// A database with sessions that are renewed every ten seconds, so that no notice arrives with a
// renewal.
struct PushingDatabase : RunningDatabase {
    PushingDatabase() {
        LockClass shared;
        shared.pattern = "shared/*";
        shared.steal = StealPolicy::ask;
        shared.steal_after = 60s;
        database.put_class(shared).value();
    }

    Session open(const std::string& principal) {
        SessionOptions options;
        options.lease = 30s;
        return database.open_session(principal, options).value();
    }

    // Calls `cause` and returns the time until `events` has `count` events.
    static double milliseconds_until(Events& events, std::size_t count,
                                     const std::function<void()>& cause) {
        const auto start = std::chrono::steady_clock::now();
        cause();
        BOOST_REQUIRE(events.wait_for(count));
        return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
            .count();
    }
    // Prints the median and the 99th percentile, and requires a median below 20 ms.
    static void check(const std::string& what, std::vector<double> times) {
        std::sort(times.begin(), times.end());
        const double median = times[times.size() / 2];
        BOOST_TEST_MESSAGE(what << ": median " << median << " ms, 99th percentile "
                                << times[times.size() * 99 / 100] << " ms");
        BOOST_TEST(median < 20.0, what << " after " << median << " ms");
    }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(a_notice, PushingDatabase)

BOOST_AUTO_TEST_CASE(of_a_loss_arrives_when_it_is_decided) {
    Session ann = open("ann");
    Events lost;
    ann.on_lost([&](const LostNotice& notice) { lost.happen(notice.ending.reason); });
    std::vector<double> times;
    for (std::size_t i = 0; i < 100; ++i) {
        const Guard guard = ann.acquire("a").value();
        times.push_back(milliseconds_until(lost, i + 1, [&] {
            database.break_grant(guard.id(), "root", "number " + std::to_string(i)).value();
        }));
        BOOST_TEST(!guard.valid());
        BOOST_TEST(lost.seen()[i] == "number " + std::to_string(i));
    }
    check("a loss", times);
}

BOOST_AUTO_TEST_CASE(of_the_end_of_the_session_arrives_when_it_is_decided) {
    std::vector<double> times;
    for (std::size_t i = 0; i < 20; ++i) {
        Session ann = open("ann");
        Events lost;
        ann.on_lost([&](const LostNotice& notice) { lost.happen(notice.ending.reason); });
        const Guard one = ann.acquire("a").value();
        const Guard two = ann.acquire("b").value();
        times.push_back(milliseconds_until(
            lost, 2, [&] { database.end_session(ann.id(), "root", "maintenance").value(); }));
        BOOST_TEST((lost.seen() == std::vector<std::string>(2, "maintenance")));
        BOOST_TEST(!one.valid());
        BOOST_TEST(!two.valid());
    }
    check("the end of a session", times);
}

BOOST_AUTO_TEST_CASE(of_a_request_and_of_its_answer_arrives_when_it_is_decided) {
    Session ann = open("ann");
    Events wanted;
    ann.on_wanted(
        [&](const Wanted& request) { wanted.happen(request.by + ": " + request.reason); });
    std::vector<double> requests;
    std::vector<double> answers;
    for (std::size_t i = 0; i < 100; ++i) {
        const bool allow = i % 2 == 0;
        const Guard guard = ann.acquire("shared/a").value();
        Session bob = open("bob");
        Events answered;
        bob.on_take_over_answer([&](const TakeOverAnswer& answer) {
            answered.happen(answer.by + (answer.allowed ? " allows " : " refuses ") +
                            answer.resource);
        });
        requests.push_back(milliseconds_until(wanted, i + 1, [&] {
            BOOST_REQUIRE(!bob.steal(guard.id(), "the month is closing").has_value());
        }));
        BOOST_TEST(wanted.seen()[i] == "bob: the month is closing");
        answers.push_back(
            milliseconds_until(answered, 1, [&] { ann.answer_wanted(guard.id(), allow).value(); }));
        BOOST_TEST(answered.seen()[0] == (allow ? "ann allows shared/a" : "ann refuses shared/a"));
    }
    check("a request to take over", requests);
    check("its answer", answers);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(the_stop_token_of_a_guard, PushingDatabase)

BOOST_AUTO_TEST_CASE(is_stopped_when_the_lock_is_lost) {
    Session ann = open("ann");
    const Guard guard = ann.acquire("a").value();
    const Guard other = ann.acquire("b").value();
    Events stops;
    const std::stop_token token = guard.stop_token();
    const std::stop_callback on_stop(token, [&] { stops.happen("a"); });
    BOOST_TEST(!token.stop_requested());
    database.break_grant(guard.id(), "root", "it is late").value();
    BOOST_REQUIRE(stops.wait_for(1));
    BOOST_TEST(!guard.valid());
    BOOST_TEST(!other.stop_token().stop_requested());
    BOOST_TEST(guard.stop_token().stop_requested());
}

BOOST_AUTO_TEST_CASE(is_not_stopped_by_the_release) {
    Session ann = open("ann");
    Guard guard = ann.acquire("a").value();
    const std::stop_token token = guard.stop_token();
    BOOST_TEST(guard.release().has_value());
    BOOST_TEST(!token.stop_requested());
    BOOST_TEST(guard.stop_token().stop_requested());
}

BOOST_AUTO_TEST_CASE(is_stopped_when_the_session_is_closed) {
    Session ann = open("ann");
    const Guard guard = ann.acquire("a").value();
    const std::stop_token token = guard.stop_token();
    BOOST_TEST(ann.close().has_value());
    BOOST_TEST(token.stop_requested());
}

// The margin of a lease of 400 ms is 100 ms.
BOOST_AUTO_TEST_CASE(is_stopped_before_a_lease_that_is_not_renewed_ends) {
    SessionOptions options;
    options.lease = 400ms;
    options.renew = false;
    Session ann = database.open_session("ann", options).value();
    const Guard guard = ann.acquire("a").value();
    Events stops;
    const std::stop_callback on_stop(guard.stop_token(),
                                     [&] { stops.happen(guard.valid() ? "valid" : "not valid"); });
    BOOST_REQUIRE(stops.wait_for(1));
    BOOST_TEST(stops.seen()[0] == "not valid");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
