// Locks that other sessions want: the holder is asked, answers, and learns the outcome.
#include <chrono>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/session.hpp>

#include "database/simulated_database.hpp"

namespace rocklock::testing {
namespace {

struct StealableDatabase : SimulatedDatabase {
    StealableDatabase() { put_class(StealPolicy::ask, 10s); }

    void put_class(StealPolicy policy, milliseconds steal_after) {
        LockClass made;
        made.pattern = "*";
        made.steal = policy;
        made.steal_after = steal_after;
        database.put_class(made).value();
    }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(a_lock_with_a_request_to_steal, StealableDatabase)

BOOST_AUTO_TEST_CASE(is_given_to_the_requester_if_its_holder_allows_it,
                     *boost::unit_test::label("embedded")) {
    Session ann = database.open_session("ann").value();
    Session bob = database.open_session("bob").value();
    std::vector<Wanted> wanted;
    std::vector<LostNotice> lost;
    ann.on_wanted([&](const Wanted& request) { wanted.push_back(request); });
    ann.on_lost([&](const LostNotice& notice) { lost.push_back(notice); });
    const Guard guard = ann.acquire("a").value();

    const auto refused = bob.steal(guard.id(), "ann is away");
    BOOST_REQUIRE(!refused.has_value());
    BOOST_TEST((refused.error().code == ErrorCode::steal_refused));
    BOOST_TEST((refused.error().policy == StealPolicy::ask));
    BOOST_TEST((refused.error().retry_after == 10s));
    BOOST_REQUIRE(refused.error().blockers.size() == 1U);
    BOOST_TEST((refused.error().blockers[0].grant == guard.id()));
    pass(1s);
    BOOST_REQUIRE(wanted.size() == 1U);
    BOOST_TEST(wanted[0].by == "bob");
    BOOST_REQUIRE(wanted[0].answer_by.has_value());
    BOOST_TEST((*wanted[0].answer_by - wanted[0].since == 10s));
    BOOST_TEST(guard.valid());

    BOOST_TEST((ann.answer_wanted(guard.id(), false).value().outcome == Outcome::held));
    BOOST_TEST((bob.steal(guard.id(), "ann is away").error().retry_after == 10s));
    BOOST_TEST((ann.answer_wanted(guard.id(), true).value().outcome == Outcome::held));
    BOOST_TEST(guard.valid());
    const Guard taken = bob.steal(guard.id(), "ann is away").value();
    BOOST_TEST(taken.valid());
    BOOST_TEST((taken.token() > guard.token()));
    pass(10min);
    BOOST_TEST(taken.valid());
    BOOST_TEST(!guard.valid());
    BOOST_REQUIRE(lost.size() == 1U);
    BOOST_TEST(lost[0].ending.by == "bob");
    BOOST_TEST(lost[0].ending.reason == "ann is away");
    BOOST_TEST(wanted.size() == 1U);
}

// A refused steal changes nothing. The audit log has forced steals only (I8).
BOOST_AUTO_TEST_CASE(is_audited_when_it_is_stolen_but_not_when_that_is_refused,
                     *boost::unit_test::label("embedded")) {
    Session ann = database.open_session("ann").value();
    Session bob = database.open_session("bob").value();
    const Guard guard = ann.acquire("a").value();
    for (int i = 0; i < 3; ++i) BOOST_TEST(!bob.steal(guard.id(), "why").has_value());
    put_class(StealPolicy::idle, 1h);
    BOOST_TEST(!bob.steal(guard.id(), "why").has_value());
    put_class(StealPolicy::never, 0s);
    BOOST_TEST(!bob.steal(guard.id(), "why").has_value());
    BOOST_TEST(database.service().audit(0, 10).value().empty());
    put_class(StealPolicy::anyone, 0s);
    const Guard taken = bob.steal(guard.id(), "why").value();
    const auto rows = database.service().audit(0, 10).value();
    BOOST_REQUIRE(rows.size() == 1U);
    BOOST_TEST((rows[0].outcome == Outcome::stolen));
    BOOST_TEST((rows[0].grant == guard.id()));
    BOOST_TEST(rows[0].by == "bob");
    BOOST_TEST(rows[0].principal == "ann");
    BOOST_TEST(rows[0].reason == "why");
}

BOOST_AUTO_TEST_CASE(has_at_most_100_requests) {
    Session ann = database.open_session("ann").value();
    const Guard guard = ann.acquire("a").value();
    std::vector<Session> others;
    const auto refusal = [&](std::size_t number) {
        return others[number].steal(guard.id(), "why").error();
    };
    for (std::size_t i = 0; i <= 100; ++i) {
        others.push_back(database.open_session("asker " + std::to_string(i)).value());
    }
    for (std::size_t i = 0; i < 100; ++i) {
        BOOST_TEST((refusal(i).code == ErrorCode::steal_refused));
    }
    BOOST_TEST((refusal(100).code == ErrorCode::limit_exceeded));
    BOOST_TEST((refusal(100).limit == 100U));
    BOOST_TEST((refusal(0).code == ErrorCode::steal_refused));
    // Denied requests count against the limit only until they expire.
    ann.answer_wanted(guard.id(), false).value();
    pass(10s);
    BOOST_TEST((refusal(100).code == ErrorCode::steal_refused));
    BOOST_TEST(guard.valid());
}

BOOST_AUTO_TEST_CASE(is_granted_to_waiters_and_its_guard_reports_the_loss) {
    Session ann = database.open_session("ann").value();
    Session bob = database.open_session("bob").value();
    Guard guard = ann.acquire("a").value();
    const Guard other = ann.acquire("b").value();
    Guard got;
    AcquireOptions patient;
    patient.patience = no_limit;
    bob.async_acquire({lock_of("a")}, patient,
                      [&](Result<Guard> granted) { got = std::move(granted).value(); });
    BOOST_TEST((ann.answer_wanted(guard.id(), true).value().outcome == Outcome::released));
    BOOST_TEST(!guard.valid());
    BOOST_TEST(other.valid());
    pass(1s);
    BOOST_TEST(got.valid());
    BOOST_TEST((guard.release().value().outcome == Outcome::already_released));
    // No session wants the other lock, so it stays.
    BOOST_TEST((ann.answer_wanted(other.id(), true).value().outcome == Outcome::held));
    BOOST_TEST(other.valid());
    BOOST_TEST((ann.answer_wanted(got.id(), true).error().code == ErrorCode::not_owner));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(a_lock_of_an_idle_holder, StealableDatabase)

BOOST_AUTO_TEST_CASE(cannot_be_stolen_while_the_session_is_active) {
    put_class(StealPolicy::idle, 10min);
    Session ann = database.open_session("ann").value();
    Session bob = database.open_session("bob").value();
    const Guard guard = ann.acquire("a").value();
    for (int i = 0; i < 6; ++i) {
        pass(9min);
        BOOST_TEST(ann.note_activity().has_value());
        BOOST_TEST((bob.steal(guard.id(), "why").error().retry_after == 10min));
    }
    // Automatic renewals do not count as activity.
    pass(10min);
    BOOST_TEST(guard.valid());
    BOOST_TEST(bob.steal(guard.id(), "why").has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
