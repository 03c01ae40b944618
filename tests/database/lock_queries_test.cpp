// Classes, queries, and administrator operations.
#include <algorithm>

#include <boost/test/unit_test.hpp>

#include <rocklock/database.hpp>

#include "database/simulated_database.hpp"

namespace rocklock::testing {

BOOST_FIXTURE_TEST_SUITE(a_class, SimulatedDatabase)

// M1: the class determines the mode of a request that names none.
BOOST_AUTO_TEST_CASE(determines_the_mode_of_an_intent) {
    LockClass shared;
    shared.pattern = "orders/*";
    shared.policy = Policy::read_write;
    BOOST_TEST((database.put_class(shared).value() == shared));
    LockClass closed;
    closed.pattern = "payroll";
    closed.policy = Policy::exclusive_read;
    database.put_class(closed).value();
    Session session = database.open_session("ann").value();
    const auto mode = [&](std::string name, Intent intent) {
        LockRequest lock = lock_of(std::move(name));
        lock.to = intent;
        const Guard guard = session.acquire({lock}).value();
        return std::string(to_string(guard.grant().locks.at(0).mode));
    };
    BOOST_TEST(mode("orders/1", Intent::edit) == "write");
    BOOST_TEST(mode("orders/1", Intent::read) == "read");
    BOOST_TEST(mode("payroll", Intent::edit) == "exclusive");
    BOOST_TEST(mode("payroll", Intent::read) == "exclusive");
    BOOST_TEST(mode("other", Intent::edit) == "write");
    LockRequest reading = lock_of("other");
    reading.to = Intent::read;
    BOOST_TEST(failure_of(session.acquire({reading})) == "invalid_argument");
}

BOOST_AUTO_TEST_CASE(is_listed_replaced_and_deleted) {
    LockClass lock_class;
    lock_class.pattern = "orders/*";
    database.put_class(lock_class).value();
    lock_class.max_hold = 5min;
    database.put_class(lock_class).value();
    BOOST_TEST((database.classes() == std::vector<LockClass>{lock_class}));
    BOOST_TEST((database.delete_class("orders/*").value() == lock_class));
    BOOST_TEST(database.classes().empty());
    BOOST_TEST(failure_of(database.delete_class("orders/*")) == "invalid_argument");
}

BOOST_AUTO_TEST_CASE(is_refused_if_it_is_invalid) {
    const auto refused = [&](auto change) {
        LockClass lock_class;
        lock_class.pattern = "a";
        change(lock_class);
        return failure_of(database.put_class(lock_class));
    };
    BOOST_TEST(refused([](LockClass&) {}) == "");
    BOOST_TEST(refused([](LockClass& c) { c.pattern = ""; }) == "invalid_argument");
    BOOST_TEST(refused([](LockClass& c) { c.lease = 0ms; }) == "invalid_argument");
    BOOST_TEST(refused([](LockClass& c) { c.lease = milliseconds::max(); }) == "invalid_argument");
    BOOST_TEST(refused([](LockClass& c) { c.max_lease = 1s; }) == "invalid_argument");
    BOOST_TEST(refused([](LockClass& c) { c.max_hold = -1ms; }) == "invalid_argument");
    BOOST_TEST(refused([](LockClass& c) { c.lock_delay = milliseconds::max(); }) ==
               "invalid_argument");
    BOOST_TEST(refused([](LockClass& c) { c.queue_limit = 0; }) == "invalid_argument");
    BOOST_TEST(refused([](LockClass& c) { c.max_priority = 101; }) == "invalid_argument");
    BOOST_TEST(refused([](LockClass& c) {
                   c.dependants = {{"b", Mode::exclusive}};
               }) == "invalid_argument");
    BOOST_TEST(refused([](LockClass& c) {
                   c.dependants = {{"", Mode::read}};
               }) == "invalid_argument");
    BOOST_TEST(database.classes().size() == 1U);
}

BOOST_AUTO_TEST_CASE(also_locks_its_dependants) {
    LockClass orders;
    orders.pattern = "tables/orders";
    orders.dependants = {{"tables/customers", Mode::read}};
    database.put_class(orders).value();
    LockClass invoices = orders;
    invoices.pattern = "tables/invoices";
    database.put_class(invoices).value();
    Session ann = database.open_session("ann").value();
    Session bob = database.open_session("bob").value();
    Session cleo = database.open_session("cleo").value();
    Guard guard = ann.acquire("tables/orders").value();
    BOOST_REQUIRE(guard.grant().locks.size() == 2U);
    BOOST_TEST(guard.grant().locks[1].resource == "tables/customers");
    BOOST_TEST(guard.grant().locks[1].cause == "tables/orders");
    // Two tables that refer to a third one can be edited at the same time; the third one cannot be
    // edited.
    const Guard other = bob.acquire("tables/invoices").value();
    const auto refused = cleo.acquire("tables/customers");
    BOOST_REQUIRE(failure_of(refused) == "conflict");
    BOOST_TEST(refused.error().blockers.size() == 2U);
    BOOST_TEST(refused.error().blockers[0].cause != "");
    guard.release().value();
    BOOST_TEST(cleo.acquire("tables/customers").error().blockers.size() == 1U);
}

BOOST_AUTO_TEST_CASE(may_count_permits) {
    LockClass pool;
    pool.pattern = "pool";
    pool.permits = 3;
    database.put_class(pool).value();
    Session session = database.open_session("ann").value();
    const auto take = [&](std::uint32_t permits) {
        LockRequest lock = lock_of("pool");
        lock.permits = permits;
        return database.open_session("bob").value().acquire({lock});
    };
    LockRequest two = lock_of("pool");
    two.permits = 2;
    const Guard guard = session.acquire({two}).value();
    // Other sessions may hold permits, too, so a permit covers no mode.
    BOOST_TEST(failure_of(guard.assert_held("pool", Mode::read)) == "not_owner");
    BOOST_TEST(failure_of(session.assert_held("pool", Mode::write)) == "not_owner");
    BOOST_TEST(failure_of(take(1)) == "");
    BOOST_TEST(failure_of(take(2)) == "conflict");
    BOOST_TEST(failure_of(take(4)) == "limit_exceeded");
    BOOST_TEST(failure_of(session.acquire({lock_of("pool", Mode::read)})) == "kind_mismatch");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(lock_queries, SimulatedDatabase)

// The caller has no lock. It sees the previous holder (O8) and the position of each waiter (W7).
BOOST_AUTO_TEST_CASE(shows_holders_waiters_and_the_last_holder) {
    Session ann = database.open_session("ann").value();
    Session bob = database.open_session("bob").value();
    Session cleo = database.open_session("cleo").value();
    const Token first = ann.acquire("a").value().token();
    const Guard guard = bob.acquire("a").value();
    AcquireOptions patient;
    patient.patience = 1h;
    cleo.async_acquire({lock_of("a", Mode::read)}, patient, [](const Result<Guard>&) {});
    const LockView view = database.show("a").value();
    BOOST_TEST(view.resource == "a");
    BOOST_REQUIRE(view.holders.size() == 1U);
    BOOST_TEST(view.holders[0].principal == "bob");
    BOOST_TEST((view.last_token == guard.token()));
    BOOST_REQUIRE(view.waiters.size() == 1U);
    BOOST_TEST(view.waiters[0].principal == "cleo");
    BOOST_TEST(view.waiters[0].position == 1U);
    BOOST_REQUIRE(view.last_holder.has_value());
    BOOST_TEST(view.last_holder->holder.principal == "ann");
    BOOST_TEST((view.last_holder->holder.token == first));
    BOOST_TEST((view.last_holder->ending.outcome == Outcome::released));
    database.tick();
}

BOOST_AUTO_TEST_CASE(shows_a_name_that_was_never_locked) {
    const LockView view = database.show("never").value();
    BOOST_TEST(view.holders.empty());
    BOOST_TEST(number(view.last_token) == 0U);
    BOOST_TEST(!view.last_holder.has_value());
    BOOST_TEST(view.lock_class.pattern == "");
}

// By prefix, principal and session, in pages (I1). The asker's own locks are marked (I4).
BOOST_AUTO_TEST_CASE(lists_in_order_and_in_pages) {
    Session ann = database.open_session("ann").value();
    Session bob = database.open_session("bob").value();
    std::vector<Guard> guards;
    for (const char* name : {"b", "a/2", "a/1", "c"}) guards.push_back(ann.acquire(name).value());
    guards.push_back(bob.acquire("a/3").value());
    const auto names = [](const LockPage& page) {
        std::string text;
        for (const Holder& holder : page.locks) text += holder.resource + (holder.you ? "! " : " ");
        return text;
    };
    BOOST_TEST(names(database.list().value()) == "a/1 a/2 a/3 b c ");
    ListLocks request;
    request.prefix = "a/";
    request.asker = "bob";
    BOOST_TEST(names(database.list(request).value()) == "a/1 a/2 a/3! ");
    request.principal = "ann";
    request.limit = 1;
    const LockPage first = database.list(request).value();
    BOOST_TEST(names(first) == "a/1 ");
    request.next = first.next;
    const LockPage second = database.list(request).value();
    BOOST_TEST(names(second) == "a/2 ");
    BOOST_TEST(second.next == "");
    ListLocks of_session;
    of_session.session = bob.id();
    BOOST_TEST(names(database.list(of_session).value()) == "a/3 ");
    ListLocks bad;
    bad.limit = 0;
    BOOST_TEST(failure_of(database.list(bad)) == "invalid_argument");
    bad.limit = 1;
    bad.next = "nonsense";
    BOOST_TEST(failure_of(database.list(bad)) == "invalid_argument");
}

BOOST_AUTO_TEST_CASE(ends_a_page_of_locks_at_a_megabyte_of_texts) {
    Session ann = database.open_session("ann").value();
    std::vector<Guard> guards;
    AcquireOptions options;
    options.note = std::string(4000, 'x');
    for (int i = 0; i < 300; ++i) {
        guards.push_back(ann.acquire("a/" + std::to_string(i), options).value());
    }
    ListLocks request;
    request.limit = 10'000;
    const LockPage first = database.list(request).value();
    BOOST_TEST(first.locks.size() > 250U);
    BOOST_TEST(first.locks.size() < 270U);
    request.next = first.next;
    const LockPage second = database.list(request).value();
    BOOST_TEST(first.locks.size() + second.locks.size() == 300U);
    BOOST_TEST(second.next == "");
    // A limit that ends the page first still applies, and a page that ends with the last row has no
    // next page.
    request = {};
    request.limit = 10;
    BOOST_TEST(database.list(request).value().locks.size() == 10U);
    guards.resize(first.locks.size());
    request.limit = 10'000;
    BOOST_TEST(database.list(request).value().next == "");
}

BOOST_AUTO_TEST_CASE(omits_the_notes_of_holders_after_a_megabyte) {
    std::vector<Session> sessions;
    std::vector<Guard> guards;
    AcquireOptions options;
    options.note = std::string(4000, 'x');
    for (int i = 0; i < 300; ++i) {
        sessions.push_back(database.open_session("ann").value());
        guards.push_back(sessions.back().acquire({lock_of("a", Mode::read)}, options).value());
    }
    const LockView view = database.show("a").value();
    BOOST_TEST(view.holders.size() == 300U);
    const auto with_note = std::count_if(view.holders.begin(), view.holders.end(),
                                         [](const Holder& holder) { return !holder.note.empty(); });
    BOOST_TEST(with_note > 250);
    BOOST_TEST(with_note < 270);
}

BOOST_AUTO_TEST_CASE(lists_the_grants_of_a_session_for_any_caller) {
    Session ann = database.open_session("ann").value();
    LockRequest below = lock_of("orders", Mode::read);
    below.subtree = true;
    const Guard guard = ann.acquire({lock_of("a", Mode::exclusive), below}).value();
    const auto holds = [&](LockService& service, std::string_view resource, Mode mode) {
        return service.holds(ann.id(), resource, mode);
    };
    // Over a socket, also through a second connection, which has no secret of ann's.
    Database other = host.connect_or_open(simulated(clock));
    for (Database* asked : {&database, over_a_socket() ? &other : &database}) {
        LockService& service = asked->service();
        BOOST_TEST(holds(service, "a", Mode::write));
        BOOST_TEST(holds(service, "orders", Mode::read));
        BOOST_TEST(holds(service, "orders/42", Mode::read));
        BOOST_TEST(!holds(service, "orders/42", Mode::write));
        BOOST_TEST(!holds(service, "orders2", Mode::read));
        BOOST_TEST(!service.holds(SessionId{}, "a", Mode::read));
    }
}

BOOST_AUTO_TEST_CASE(lists_sessions_in_the_order_of_opening) {
    const Session ann = database.open_session("ann").value();
    const Session bob = database.open_session("bob").value();
    const Session again = database.open_session("ann").value();
    BOOST_TEST(database.sessions().value().size() == 3U);
    const auto anns = database.sessions("ann").value();
    BOOST_REQUIRE(anns.size() == 2U);
    BOOST_TEST((anns[0].id == ann.id()));
    BOOST_TEST((anns[1].id == again.id()));
}

BOOST_AUTO_TEST_CASE(counts_the_outcome_of_every_grant) {
    Session ann = database.open_session("ann").value();
    Session bob = database.open_session("bob").value();
    ann.acquire("a").value().release().value();
    const Guard held = ann.acquire("b").value();
    Guard broken = ann.acquire("c").value();
    database.break_grant(broken.id(), "root", "test").value();
    std::ignore = bob.acquire("b");
    const LockStatistics counts = database.statistics();
    BOOST_TEST(counts.granted == 3U);
    BOOST_TEST(counts.released == 1U);
    BOOST_TEST(counts.broken == 1U);
    BOOST_TEST(counts.held == 1U);
    BOOST_TEST(counts.refused == 1U);
    BOOST_TEST(counts.sessions == 2U);
    BOOST_TEST(counts.sweep_finds == 0U);
}

// The waiters, their blockers and the graph of the waits (I3).
BOOST_AUTO_TEST_CASE(shows_the_wait_graph_and_the_refused_deadlocks) {
    Session ann = database.open_session("ann").value();
    Session bob = database.open_session("bob").value();
    Guard first = ann.acquire("a").value();
    const Guard second = bob.acquire("b").value();
    AcquireOptions patient;
    patient.patience = 1h;
    ann.async_acquire({lock_of("b")}, patient, [](const Result<Guard>&) {});
    const auto edges = database.service().wait_graph();
    BOOST_REQUIRE(edges.size() == 1U);
    BOOST_TEST(edges[0].waiter_principal == "ann");
    BOOST_TEST(edges[0].blocker_principal == "bob");
    BOOST_TEST(edges[0].resource == "b");
    BOOST_TEST(edges[0].blocker_holds);
    const auto refused = bob.acquire("a", patient);
    BOOST_REQUIRE(failure_of(refused) == "deadlock");
    BOOST_TEST(refused.error().cycle.size() == 2U);
    const auto deadlocks = database.service().recent_deadlocks();
    BOOST_REQUIRE(deadlocks.size() == 1U);
    BOOST_TEST(deadlocks[0].cycle.size() == 2U);
    database.close().value();
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(breaking_a_grant, SimulatedDatabase)

// The record of a break (I8).
BOOST_AUTO_TEST_CASE(frees_its_resources_and_is_audited) {
    Session ann = database.open_session("ann").value();
    Session bob = database.open_session("bob").value();
    const Guard guard = ann.acquire({lock_of("a"), lock_of("b")}).value();
    BOOST_TEST((database.break_grant(guard.id(), "root", "ann has left").value().outcome ==
                Outcome::broken));
    BOOST_TEST(bob.acquire("a").has_value());
    BOOST_TEST(bob.acquire("b").has_value());
    const auto rows = database.service().audit(0, 10).value();
    BOOST_REQUIRE(rows.size() == 1U);
    BOOST_TEST(rows[0].by == "root");
    BOOST_TEST(rows[0].reason == "ann has left");
    BOOST_TEST(rows[0].principal == "ann");
    BOOST_TEST(rows[0].resource == "a");
    BOOST_TEST((rows[0].token == guard.token()));
    BOOST_TEST(database.service().audit(rows[0].sequence, 10).value().empty());
    BOOST_TEST(database.service().audit(0, 0).value().empty());
}

BOOST_AUTO_TEST_CASE(needs_a_reason_a_name_and_a_grant_that_lives) {
    Session session = database.open_session("ann").value();
    Guard guard = session.acquire("a").value();
    BOOST_TEST(failure_of(database.break_grant(guard.id(), "root", "")) == "invalid_argument");
    BOOST_TEST(failure_of(database.break_grant(guard.id(), "", "why")) == "invalid_argument");
    BOOST_TEST(failure_of(database.break_grant(GrantId{1}, "root", "why")) == "not_owner");
    BOOST_TEST(guard.valid());
    const GrantId id = guard.id();
    guard.release().value();
    BOOST_TEST(failure_of(database.break_grant(id, "root", "why")) == "grant_ended");
    BOOST_TEST(database.service().audit(0, 10).value().empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
