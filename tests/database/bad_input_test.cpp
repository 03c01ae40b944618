// Invalid input returns an error and changes nothing.
#include <string>

#include <boost/test/unit_test.hpp>

#include <rocklock/database.hpp>

#include "database/simulated_database.hpp"

namespace rocklock::testing {

namespace {

using namespace std::string_literals;

const std::vector<std::string> bad_names = {
    "",
    std::string(1025, 'x'),
    std::string(1'000'000, 'x'),
    "a\0b"s,
    "\0"s,
    // Not UTF-8: a stray continuation byte, a truncated sequence, an overlong one, a surrogate, and
    // a code point out of range.
    "\x80",
    "caf\xc3",
    "\xc0\xaf",
    "\xe0\x80\xaf",
    "\xed\xa0\x80",
    "\xf4\x90\x80\x80",
    "\xff",
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(a_name, SimulatedDatabase)

BOOST_AUTO_TEST_CASE(that_is_invalid_is_refused_by_every_operation) {
    Session session = database.open_session("ann").value();
    const Guard guard = session.acquire("good").value();
    for (const std::string& name : bad_names) {
        BOOST_TEST(failure_of(session.acquire(name)) == "invalid_argument");
        BOOST_TEST(failure_of(session.acquire({lock_of("a"), lock_of(name)})) ==
                   "invalid_argument");
        BOOST_TEST(failure_of(database.open_session(name)) == "invalid_argument");
        BOOST_TEST(failure_of(database.break_grant(guard.id(), name, "why")) == "invalid_argument");
        LockClass lock_class;
        lock_class.pattern = name;
        BOOST_TEST(failure_of(database.put_class(lock_class)) == "invalid_argument");
        BOOST_TEST(failure_of(database.delete_class(name)) == "invalid_argument");
        BOOST_TEST(failure_of(session.assert_held(name, Mode::read)) == "not_owner");
        BOOST_TEST(failure_of(database.show(name)) == "invalid_argument");
    }
    BOOST_TEST(database.list().value().locks.size() == 1U);
    BOOST_TEST(database.sessions().value().size() == 1U);
    BOOST_TEST(guard.valid());
}

BOOST_AUTO_TEST_CASE(may_be_long_and_in_any_script) {
    Session session = database.open_session("Ánna 李 🔒").value();
    for (const std::string& name :
         {std::string(1024, 'x'), "Заказ/№42"s, "注文/四十二"s, "🔒"s, "a//b"s, "/"s, " "s, "\n"s}) {
        BOOST_TEST(failure_of(session.acquire(name)) == "");
    }
}

BOOST_AUTO_TEST_CASE(is_compared_exactly) {
    Session ann = database.open_session("ann").value();
    Session bob = database.open_session("bob").value();
    const Guard guard = ann.acquire("orders/42").value();
    for (const char* other : {"orders/4", "orders/421", "orders", "orders/42/", "orders//42",
                              "Orders/42", "orders/42 "}) {
        BOOST_TEST(failure_of(bob.acquire(other)) == "");
    }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(a_set, SimulatedDatabase)

BOOST_AUTO_TEST_CASE(names_each_resource_once) {
    Session session = database.open_session("ann").value();
    BOOST_TEST(failure_of(session.acquire({lock_of("a"), lock_of("b"), lock_of("a")})) ==
               "invalid_argument");
    BOOST_TEST(database.list().value().locks.empty());
}

// The size of a set is limited (requirement A7).
BOOST_AUTO_TEST_CASE(has_one_to_a_hundred_resources) {
    Session session = database.open_session("ann").value();
    BOOST_TEST(failure_of(session.acquire(std::vector<LockRequest>{})) == "invalid_argument");
    std::vector<LockRequest> locks;
    for (int i = 0; i < 100; ++i) locks.push_back(lock_of(std::to_string(i)));
    BOOST_TEST(session.acquire(locks).value().grant().locks.size() == 100U);
    locks.push_back(lock_of("100"));
    const auto refused = session.acquire(locks);
    BOOST_REQUIRE(failure_of(refused) == "limit_exceeded");
    BOOST_TEST((refused.error().limit == 100U));
}

BOOST_AUTO_TEST_CASE(gives_a_mode_or_an_intent) {
    Session session = database.open_session("ann").value();
    LockRequest both = lock_of("a", Mode::write);
    both.to = Intent::edit;
    BOOST_TEST(failure_of(session.acquire({both})) == "invalid_argument");
    LockRequest permits = lock_of("a");
    permits.permits = 1;
    BOOST_TEST(failure_of(session.acquire({permits})) == "kind_mismatch");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(a_text, SimulatedDatabase)

BOOST_AUTO_TEST_CASE(has_its_limits) {
    Session session = database.open_session("ann").value();
    AcquireOptions options;
    options.note = std::string(4096, 'x');
    BOOST_TEST(failure_of(session.acquire("a", options)) == "");
    options.metadata = {{"k", ""}};
    const auto refused = session.acquire("a", options);
    BOOST_REQUIRE(failure_of(refused) == "limit_exceeded");
    BOOST_TEST((refused.error().limit == 4096U));
    AcquireOptions binary;
    binary.note = "\xff";
    BOOST_TEST(failure_of(session.acquire("a", binary)) == "invalid_argument");
    SessionOptions of_session;
    of_session.metadata = {{"k", "\xff"}};
    BOOST_TEST(failure_of(database.open_session("ann", of_session)) == "invalid_argument");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(a_lease, SimulatedDatabase)

BOOST_AUTO_TEST_CASE(is_not_changed_to_an_invalid_value) {
    Session session = database.open_session("ann").value();
    const Guard guard = session.acquire("a").value();
    for (const milliseconds lease : {0ms, -1ms, 99ms, milliseconds(24h * 30 + 1ms),
                                     milliseconds::max(), milliseconds::min()}) {
        BOOST_TEST(failure_of(session.renew(lease)) == "invalid_argument");
    }
    BOOST_TEST((guard.remaining() == 27s));
    BOOST_TEST((manager_says(session.id()) == 30s));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
