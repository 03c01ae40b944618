// Handles: guards that release their grants, sessions that close, and detaching both.
#include <memory>
#include <type_traits>
#include <utility>

#include <boost/test/unit_test.hpp>

#include <rocklock/session.hpp>
#include <rocklock/testing/faulty_storage.hpp>

#include "database/simulated_database.hpp"
#include "support/temporary_directory.hpp"

namespace rocklock::testing {

static_assert(std::is_nothrow_destructible_v<Guard>);
static_assert(std::is_nothrow_destructible_v<Session>);
static_assert(std::is_nothrow_move_constructible_v<Guard>);
static_assert(std::is_nothrow_move_assignable_v<Session>);
static_assert(!std::is_copy_constructible_v<Guard>);

BOOST_FIXTURE_TEST_SUITE(a_guard, SimulatedDatabase)

// E1: the guard releases its grant.
BOOST_AUTO_TEST_CASE(releases_when_it_goes_out_of_scope) {
    Session session = database.open_session("ann").value();
    {
        const Guard guard = session.acquire("a").value();
        BOOST_TEST(manager_holds(session.id(), "a"));
    }
    // Over a socket, the destructor does not wait, but later calls see the release.
    BOOST_TEST(database.show("a").value().holders.empty());
    BOOST_TEST(!manager_holds(session.id(), "a"));
    BOOST_TEST(database.statistics().released == 1U);
}

BOOST_AUTO_TEST_CASE(releases_its_grant_if_another_guard_is_moved_into_it) {
    Session session = database.open_session("ann").value();
    Guard guard = session.acquire("a").value();
    guard = session.acquire("b").value();
    BOOST_TEST(database.show("a").value().holders.empty());
    BOOST_TEST(!manager_holds(session.id(), "a"));
    BOOST_TEST(manager_holds(session.id(), "b"));
    Guard& same = guard;
    guard = std::move(same);
    BOOST_TEST(manager_holds(session.id(), "b"));
}

BOOST_AUTO_TEST_CASE(is_released_once) {
    Session session = database.open_session("ann").value();
    Guard guard = session.acquire("a").value();
    BOOST_TEST((guard.release().value().outcome == Outcome::released));
    BOOST_TEST(!guard);
    BOOST_TEST(failure_of(guard.release()) == "invalid_argument");
}

BOOST_AUTO_TEST_CASE(never_releases_the_grant_of_the_next_holder) {
    SessionOptions options;
    options.renew = false;
    Session ann = database.open_session("ann", options).value();
    Session bob = database.open_session("bob").value();
    Guard late = ann.acquire("a").value();
    pass(31s);
    const Guard next = bob.acquire("a").value();
    BOOST_TEST((late.release().value().outcome == Outcome::expired));
    BOOST_TEST(manager_holds(bob.id(), "a"));
}

BOOST_AUTO_TEST_CASE(may_outlive_its_session_object) {
    Guard guard;
    {
        Session session = database.open_session("ann").value();
        guard = session.acquire("a").value();
        BOOST_TEST(guard.valid());
    }
    BOOST_TEST(!guard.valid());
    BOOST_TEST((guard.release().value().outcome == Outcome::already_released));
}

BOOST_AUTO_TEST_CASE(that_was_moved_from_reports_it) {
    Session session = database.open_session("ann").value();
    Guard guard = session.acquire("a").value();
    const Guard taken = std::move(guard);
    // Using the moved-from object is intended.
    Guard& moved = guard;  // NOLINT(bugprone-use-after-move)
    BOOST_TEST(!moved);
    BOOST_TEST(!moved.valid());
    BOOST_TEST(moved.remaining().count() == 0);
    BOOST_TEST(number(moved.token()) == 0U);
    BOOST_TEST(failure_of(moved.release()) == "invalid_argument");
    BOOST_TEST(failure_of(moved.convert(Mode::read)) == "invalid_argument");
    BOOST_TEST(failure_of(moved.assert_held("a", Mode::read)) == "invalid_argument");
    BOOST_TEST(number(moved.detach().id) == 0U);
    BOOST_TEST(moved.release().error().message.find("empty") != std::string::npos);
    BOOST_TEST(taken.valid());
}

BOOST_AUTO_TEST_CASE(carries_the_new_token_after_a_conversion_upward) {
    Session session = database.open_session("ann").value();
    Guard guard = session.acquire({lock_of("a", Mode::read)}).value();
    const Token first = guard.token();
    guard.convert(Mode::write).value();
    BOOST_TEST((guard.token() > first));
    BOOST_TEST(number(guard.id()) == number(first));
    const Token second = guard.token();
    guard.convert(Mode::read).value();
    BOOST_TEST((guard.token() == second));
    BOOST_TEST((guard.grant().locks.at(0).mode == Mode::read));
    BOOST_TEST(guard.valid());
}

BOOST_AUTO_TEST_CASE(stays_as_it_was_when_a_conversion_fails) {
    Session ann = database.open_session("ann").value();
    Session bob = database.open_session("bob").value();
    Guard guard = ann.acquire({lock_of("a", Mode::read)}).value();
    const Guard other = bob.acquire({lock_of("a", Mode::read)}).value();
    const Token before = guard.token();
    BOOST_TEST(failure_of(guard.convert(Mode::write)) == "conflict");
    BOOST_TEST((guard.token() == before));
    BOOST_TEST((guard.grant().locks.at(0).mode == Mode::read));
    BOOST_TEST(manager_holds(ann.id(), "a", Mode::read));
}

BOOST_AUTO_TEST_CASE(that_is_detached_leaves_the_grant_to_its_lease) {
    SessionOptions options;
    options.renew = false;
    Session session = database.open_session("ann", options).value();
    Guard guard = session.acquire("a").value();
    const GrantId id = guard.id();
    const Grant grant = guard.detach();
    BOOST_TEST((grant.id == id));
    BOOST_TEST(!guard);
    BOOST_TEST(manager_holds(session.id(), "a"));
    // A program with the session's credentials and the grant's id can still release the grant (O1).
    BOOST_TEST(
        (database.service().ask(Release{session.id(), id}).value().outcome == Outcome::released));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(a_guard_on_failed_storage, SimulatedDatabase)

BOOST_AUTO_TEST_CASE(is_destroyed_silently_and_leaves_the_grant) {
    auto storage = std::make_unique<FaultyStorage>(clock);
    FaultyStorage& disk = *storage;
    std::unique_ptr<FaultyStorage> later;
    SessionCredentials credentials;
    {
        Database failing = Database::open_on(std::move(storage), simulated(clock)).value();
        Session session = failing.open_session("ann").value();
        credentials = session.credentials();
        {
            const Guard guard = session.acquire("a").value();
            disk.fail_nth(FaultyStorage::Call::sync, 1);
            BOOST_TEST(failure_of(session.acquire("b")) == "io_error");
        }
        later = disk.reopen_after_power_cut();
    }
    Database again = Database::open_on(std::move(later), simulated(clock)).value();
    Session session = again.resume_session(credentials).value();
    BOOST_TEST(session.reclaim().value().size() == 1U);
}

// E1: the destructor does not throw.
BOOST_AUTO_TEST_CASE(is_destroyed_silently_if_its_release_fails) {
    auto storage = std::make_unique<FaultyStorage>(clock);
    FaultyStorage& disk = *storage;
    Database failing = Database::open_on(std::move(storage), simulated(clock)).value();
    Session session = failing.open_session("ann").value();
    {
        const Guard guard = session.acquire("a").value();
        disk.fail_nth(FaultyStorage::Call::write, 1);
    }
    BOOST_TEST(disk.failure().has_value());
    BOOST_TEST(failure_of(session.acquire("b")) == "io_error");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(a_session_handle, SimulatedDatabase)

BOOST_AUTO_TEST_CASE(closes_when_it_goes_out_of_scope) {
    SessionId id;
    {
        Session session = database.open_session("ann").value();
        id = session.id();
        session.acquire("a").value().detach();
        BOOST_TEST(manager_holds(id, "a"));
    }
    BOOST_TEST(database.show("a").value().holders.empty());
    BOOST_TEST(!manager_holds(id, "a"));
    BOOST_TEST(database.sessions().value().empty());
}

BOOST_AUTO_TEST_CASE(reports_the_grants_that_its_close_released) {
    Session session = database.open_session("ann").value();
    const Guard first = session.acquire("a").value();
    const Guard second = session.acquire("b").value();
    const ClosedSession closed = session.close().value();
    BOOST_TEST((closed.released == std::vector<GrantId>{first.id(), second.id()}));
    BOOST_TEST(!session);
    BOOST_TEST(!first.valid());
}

BOOST_AUTO_TEST_CASE(that_was_moved_from_reports_it) {
    Session session = database.open_session("ann").value();
    const Session taken = std::move(session);
    // Using the moved-from object is intended.
    Session& moved = session;  // NOLINT(bugprone-use-after-move)
    BOOST_TEST(!moved);
    BOOST_TEST(!moved.valid());
    BOOST_TEST((moved.id() == SessionId{}));
    BOOST_TEST((moved.credentials().secret == Secret{}));
    BOOST_TEST(failure_of(moved.acquire("a")) == "invalid_argument");
    BOOST_TEST(failure_of(moved.renew()) == "invalid_argument");
    BOOST_TEST(failure_of(moved.close()) == "invalid_argument");
    BOOST_TEST(failure_of(moved.reclaim()) == "invalid_argument");
    BOOST_TEST(failure_of(moved.assert_held("a", Mode::read)) == "invalid_argument");
    moved.on_lost({});
    moved.cancel({});
    moved.detach();
    int answers = 0;
    moved.async_acquire({lock_of("a")}, {}, [&](const Result<Guard>& answer) {
        ++answers;
        BOOST_TEST(failure_of(answer) == "invalid_argument");
    });
    BOOST_TEST(answers == 1);
    BOOST_TEST(taken.valid());
}

BOOST_AUTO_TEST_CASE(that_is_detached_is_not_renewed_and_not_closed) {
    SessionId id;
    {
        Session session = database.open_session("ann").value();
        id = session.id();
        session.acquire("a").value().detach();
        session.detach();
    }
    BOOST_TEST(manager_holds(id, "a"));
    pass(29s);
    BOOST_TEST(manager_holds(id, "a"));
    pass(2s);
    BOOST_TEST(!manager_holds(id, "a"));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(a_resumed_session, SimulatedDatabase)

BOOST_AUTO_TEST_CASE(has_its_grants_with_the_same_ids_and_tokens) {
    SessionCredentials credentials;
    Grant first;
    Grant second;
    {
        Session session = database.open_session("ann").value();
        Guard guard = session.acquire("a").value();
        Guard other = session.acquire({lock_of("b", Mode::read)}).value();
        other.convert(Mode::write).value();
        first = guard.detach();
        second = other.detach();
        credentials = session.detach();
    }
    Session session = database.resume_session(credentials).value();
    const std::vector<Guard> guards = session.reclaim().value();
    BOOST_REQUIRE(guards.size() == 2U);
    BOOST_TEST((guards[0].id() == first.id));
    BOOST_TEST((guards[0].token() == first.token));
    BOOST_TEST((guards[1].id() == second.id));
    BOOST_TEST((guards[1].token() == second.token));
    pass(10min);
    BOOST_TEST(guards[0].valid());
}

BOOST_AUTO_TEST_CASE(keeps_the_lease_it_was_opened_with) {
    SessionOptions options;
    options.lease = 10min;
    const SessionCredentials credentials = database.open_session("ann", options).value().detach();
    clock.advance(5min);
    Session session = database.resume_session(credentials).value();
    // Resuming the session has renewed it.
    BOOST_TEST((manager_says(session.id()) == 10min));
}

// O6: a program that knows the secret of a session, and no other program, can continue it.
BOOST_AUTO_TEST_CASE(needs_the_right_secret) {
    SessionCredentials credentials = database.open_session("ann").value().detach();
    SessionCredentials wrong = credentials;
    wrong.secret.bytes[31] ^= 1;
    const auto refused = database.resume_session(wrong);
    BOOST_TEST(failure_of(refused) == "not_owner");
    SessionCredentials unknown = credentials;
    unknown.id.bytes[0] ^= 1;
    BOOST_TEST(failure_of(database.resume_session(unknown)) == "not_owner");
    BOOST_TEST(failure_of(database.resume_session(credentials)) == "");
}

BOOST_AUTO_TEST_CASE(must_not_have_ended) {
    const SessionCredentials expired = database.open_session("ann").value().detach();
    Session closing = database.open_session("bob").value();
    const SessionCredentials closed = closing.credentials();
    closing.close().value();
    clock.advance(31s);
    BOOST_TEST(failure_of(database.resume_session(expired)) == "session_expired");
    const std::string code = failure_of(database.resume_session(closed));
    BOOST_TEST((code == "session_not_found" || code == "session_expired"));
}

BOOST_AUTO_TEST_SUITE_END()

// O6: after a restart of its program, the session still has its grants. The next holder gets a
// greater token (F2).
BOOST_AUTO_TEST_SUITE(a_session_that_outlives_its_process, *boost::unit_test::label("rocksdb"))

BOOST_AUTO_TEST_CASE(has_its_grants_with_the_same_ids_and_tokens) {
    const TemporaryDirectory directory;
    SimulatedClock clock;
    SessionCredentials credentials;
    Grant grant;
    {
        Database database = Database::open(directory / "store", simulated(clock)).value();
        Session session = database.open_session("ann").value();
        Guard guard = session.acquire("orders/42").value();
        grant = guard.detach();
        credentials = session.detach();
        database.close().value();
    }
    clock.advance(20s);
    Database database = Database::open(directory / "store", simulated(clock)).value();
    SessionCredentials wrong = credentials;
    wrong.secret.bytes[0] ^= 1;
    BOOST_TEST(failure_of(database.resume_session(wrong)) == "not_owner");
    // The machine was not restarted, so the lease is neither extended nor shortened.
    BOOST_TEST((database.sessions().value().at(0).remaining == 10s));
    Session session = database.resume_session(credentials).value();
    std::vector<Guard> guards = session.reclaim().value();
    BOOST_REQUIRE(guards.size() == 1U);
    BOOST_TEST((guards[0].id() == grant.id));
    BOOST_TEST((guards[0].token() == grant.token));
    BOOST_TEST(guards[0].valid());
    Session other = database.open_session("bob").value();
    BOOST_TEST(failure_of(other.acquire("orders/42")) == "conflict");
    guards[0].release().value();
    BOOST_TEST((other.acquire("orders/42").value().token() > grant.token));
}

BOOST_AUTO_TEST_CASE(gets_a_full_lease_after_a_reboot) {
    const TemporaryDirectory directory;
    SimulatedClock clock;
    SessionCredentials credentials;
    {
        Database database = Database::open(directory / "store", simulated(clock)).value();
        Session session = database.open_session("ann").value();
        session.acquire("orders/42").value().detach();
        credentials = session.detach();
        database.close().value();
    }
    clock.reboot("boot-2");
    Database database = Database::open(directory / "store", simulated(clock)).value();
    BOOST_TEST((database.sessions().value().at(0).remaining == 30s));
    BOOST_TEST(database.resume_session(credentials).value().reclaim().value().size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
