// Requests for any one of several resources, and priorities, in the C++ interface (W8, W9).
#include <optional>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/session.hpp>

#include "database/simulated_database.hpp"

namespace rocklock::testing {
namespace {

std::vector<LockRequest> locks_on(std::initializer_list<const char*> names) {
    std::vector<LockRequest> locks;
    for (const char* name : names) locks.push_back({.resource = name});
    return locks;
}

std::string granted(const Result<Guard>& guard) {
    if (!guard) return std::string(to_string(guard.error().code));
    return guard->grant().locks.size() == 1 ? guard->grant().locks.front().resource : "several";
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(a_request_for_any_one_of_several_resources, SimulatedDatabase)

BOOST_AUTO_TEST_CASE(gets_the_first_that_is_free) {
    Session ann = database.open_session("ann").value();
    Session bob = database.open_session("bob").value();
    const auto first = ann.acquire_any(locks_on({"a", "b"}));
    const auto second = bob.acquire_any(locks_on({"a", "b"}));
    BOOST_TEST(granted(first) == "a");
    BOOST_TEST(granted(second) == "b");
    const auto third = bob.acquire_any(locks_on({"a", "b"}));
    BOOST_TEST(granted(third) == "conflict");
    BOOST_TEST(third.error().blockers.size() == 1U);
}

BOOST_AUTO_TEST_CASE(waits_for_the_first_that_becomes_free) {
    Session ann = database.open_session("ann").value();
    Session bob = database.open_session("bob").value();
    Guard a = ann.acquire("a").value();
    Guard b = ann.acquire("b").value();
    AcquireOptions patient;
    patient.patience = 1h;
    std::optional<std::string> got;
    std::optional<Guard> kept;
    bob.async_acquire_any(locks_on({"a", "b"}), patient, [&](Result<Guard> guard) {
        got = granted(guard);
        if (guard) kept = *std::move(guard);
    });
    pass(1s);
    BOOST_TEST(!got.has_value());
    const LockView view = database.show("b").value();
    BOOST_TEST_REQUIRE(view.waiters.size() == 1U);
    BOOST_TEST(view.waiters.front().any);
    b.release().value();
    pass(1s);
    BOOST_TEST((got == "b"));
    BOOST_TEST(database.show("a").value().waiters.empty());
    BOOST_TEST(kept->valid());
}

BOOST_AUTO_TEST_CASE(fails_for_an_empty_session) {
    Session none;
    BOOST_TEST(granted(none.acquire_any(locks_on({"a"}))) == "invalid_argument");
    std::string got;
    none.async_acquire_any(locks_on({"a"}), {}, [&](const Result<Guard>& g) { got = granted(g); });
    BOOST_TEST(got == "invalid_argument");
}

BOOST_AUTO_TEST_CASE(can_have_a_priority) {
    LockClass urgent;
    urgent.pattern = "a";
    urgent.max_priority = 2;
    database.put_class(urgent).value();
    Session ann = database.open_session("ann").value();
    Session bob = database.open_session("bob").value();
    Session cleo = database.open_session("cleo").value();
    Guard a = ann.acquire("a").value();
    AcquireOptions patient;
    patient.patience = 1h;
    std::vector<std::string> order;
    bob.async_acquire(locks_on({"a"}), patient, [&](Result<Guard>) { order.emplace_back("bob"); });
    patient.priority = 2;
    cleo.async_acquire(locks_on({"a"}), patient,
                       [&](Result<Guard>) { order.emplace_back("cleo"); });
    BOOST_TEST(database.show("a").value().waiters.front().priority == 2U);
    a.release().value();
    pass(1s);
    BOOST_TEST((order == std::vector<std::string>{"cleo", "bob"}));
    patient.priority = 3;
    BOOST_TEST(granted(cleo.acquire(locks_on({"a"}), patient)) == "invalid_argument");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
