// Sessions that end with their leases: which records are written, which request is served first,
// and in what order.
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/storage/storage.hpp>
#include <rocklock/testing/simulated_clock.hpp>

#include "lock/manager/lock_manager.hpp"
#include "lock/records/records.hpp"
#include "support/forwarding_storage.hpp"

namespace rocklock {
namespace {

using std::chrono::milliseconds;
using testing::SimulatedClock;

// A manager without a background thread.
struct Lender {
    explicit Lender(std::chrono::milliseconds history_age = std::chrono::hours{24})
        : age(history_age), storage(make_memory_storage(clock)) {
        reopen();
    }

    void reopen() {
        LockManagerOptions options;
        options.background = false;
        options.retention.history_age = age;
        options.retention.max_history_records = 0;
        manager.reset();
        manager = LockManager::open(*storage, clock, options).value();
    }

    // Acquires `resource` in a new session.
    Grant lend(const std::string& resource, milliseconds lease = std::chrono::seconds{1}) const {
        Acquire request;
        request.opens.emplace().principal = "ann";
        request.opens->lease = lease;
        request.locks = {{.resource = resource}};
        return manager->ask(request).value();
    }
    Grant lend(const std::string& resource, const SessionId& session) const {
        Acquire request;
        request.session = session;
        request.locks = {{.resource = resource}};
        return manager->ask(request).value();
    }
    void release(const Grant& grant) const {
        BOOST_REQUIRE(manager->ask(Release{grant.session, grant.id}));
    }
    void pass(std::chrono::nanoseconds by) {
        clock.advance(by);
        manager->tick();
        manager->tick();
    }

    std::optional<Error> renewal_refused(const SessionId& session) const {
        const auto renewed = manager->ask(RenewSession{session, {}, {}, {}, {}});
        if (renewed) return std::nullopt;
        return renewed.error();
    }
    bool ended(const SessionId& session, Outcome how) const {
        const auto error = renewal_refused(session);
        return error && error->code == ErrorCode::session_expired && error->ended &&
               error->ended->outcome == how;
    }
    std::optional<std::string> stored(const std::string& key) const {
        return storage->get(Family::locks, key).value();
    }
    records::GrantRecord grant_record(GrantId id) const {
        return records::decode_grant(id, stored(records::grant_key(id)).value()).value();
    }
    records::SessionRecord session_record(const SessionId& id) const {
        return records::decode_session(id, stored(records::session_key(id)).value()).value();
    }

    SimulatedClock clock;
    std::chrono::milliseconds age;
    std::unique_ptr<Storage> storage;
    std::unique_ptr<LockManager> manager;
};

BOOST_AUTO_TEST_SUITE(a_session_made_for_one_grant)

BOOST_AUTO_TEST_CASE(ends_with_the_record_of_that_grant) {
    Lender lender;
    const Grant grant = lender.lend("a");
    const auto opened = lender.stored(records::session_key(grant.session));
    lender.pass(std::chrono::seconds{1});
    BOOST_CHECK(lender.grant_record(grant.id).ends_session);
    BOOST_CHECK(lender.stored(records::session_key(grant.session)) == opened);
    BOOST_CHECK(lender.ended(grant.session, Outcome::expired));
}

BOOST_AUTO_TEST_CASE(ends_if_the_grant_is_released) {
    Lender lender;
    const Grant grant = lender.lend("a");
    lender.release(grant);
    lender.pass(milliseconds{1});
    BOOST_CHECK(lender.grant_record(grant.id).ends_session);
    BOOST_CHECK(lender.ended(grant.session, Outcome::released));
}

BOOST_AUTO_TEST_CASE(stays_ended_after_a_reboot) {
    Lender lender;
    const Grant expired = lender.lend("a");
    const Grant released = lender.lend("b", std::chrono::hours{1});
    const Grant held = lender.lend("c", std::chrono::hours{1});
    lender.release(released);
    lender.pass(std::chrono::seconds{1});
    lender.manager.reset();
    lender.clock.reboot("boot-2");
    lender.reopen();
    BOOST_CHECK(lender.ended(expired.session, Outcome::expired));
    BOOST_CHECK(lender.ended(released.session, Outcome::released));
    const auto living = lender.manager->sessions("ann").value();
    BOOST_REQUIRE_EQUAL(living.size(), 1);
    BOOST_CHECK(living.front().id == held.session);
    BOOST_CHECK(!lender.manager->audit_invariants());
}

BOOST_AUTO_TEST_CASE(continues_while_it_has_another_grant) {
    Lender lender;
    const Grant first = lender.lend("a");
    const Grant second = lender.lend("b", first.session);
    lender.release(first);
    BOOST_CHECK(!lender.grant_record(first.id).ends_session);
    BOOST_CHECK(!lender.renewal_refused(first.session));
    lender.release(second);
    lender.pass(milliseconds{1});
    // The session's record names the first grant, so the end of the session is written in its own
    // record.
    BOOST_CHECK(!lender.grant_record(second.id).ends_session);
    BOOST_CHECK(lender.session_record(first.session).ended);
    BOOST_CHECK(!lender.stored(records::deadline_key(first.session)));
    BOOST_CHECK(lender.ended(first.session, Outcome::released));
}

BOOST_AUTO_TEST_CASE(is_forgotten_with_its_grant) {
    Lender lender(std::chrono::seconds{10});
    const Grant grant = lender.lend("a");
    lender.pass(std::chrono::seconds{1});
    lender.pass(std::chrono::seconds{5});
    BOOST_CHECK(lender.stored(records::session_key(grant.session)));
    lender.pass(std::chrono::seconds{10});
    BOOST_CHECK(!lender.stored(records::grant_key(grant.id)));
    BOOST_CHECK(!lender.stored(records::session_key(grant.session)));
    BOOST_CHECK(lender.renewal_refused(grant.session)->code == ErrorCode::session_not_found);
}

// A store that was written by an older version has such a record.
BOOST_AUTO_TEST_CASE(is_ended_by_its_own_record_if_that_names_no_grant) {
    Lender lender;
    const Grant grant = lender.lend("a");
    auto record = lender.session_record(grant.session);
    BOOST_CHECK(record.made_for == grant.id);
    record.made_for = GrantId{};
    lender.manager.reset();
    Batch batch;
    batch.writes.push_back(
        {Family::locks, records::session_key(grant.session), records::encode(record)});
    const auto committed = lender.storage->commit(std::move(batch), Durability::durable);
    BOOST_REQUIRE(committed);
    lender.reopen();
    lender.pass(std::chrono::seconds{1});
    BOOST_CHECK(!lender.grant_record(grant.id).ends_session);
    BOOST_CHECK(lender.session_record(grant.session).ended);
    BOOST_CHECK(lender.ended(grant.session, Outcome::expired));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(many_leases_that_end_together)

// All deadlines are within a millisecond. The half that was granted later expires first.
std::vector<Grant> lend_many(Lender& lender, std::size_t count) {
    std::vector<Grant> grants;
    const auto step = std::chrono::nanoseconds{400'000} / static_cast<int>(count);
    for (std::size_t i = 0; i < count; ++i) {
        // The leases of the later half are 1 ms shorter, and all grants are made within 0.4 ms.
        const milliseconds lease{i < count / 2 ? 1001 : 1000};
        grants.push_back(lender.lend("a" + std::to_string(i), lease));
        lender.clock.advance(step);
    }
    return grants;
}

// Three thousand leases end within a millisecond (requirement S4).
BOOST_AUTO_TEST_CASE(are_cleaned_up_at_their_deadlines_and_not_before) {
    Lender lender;
    const auto grants = lend_many(lender, 3000);
    const BootTime first = grants[1500].deadline;
    const BootTime last = grants[1499].deadline;
    while (lender.clock.now().boot < last + milliseconds{1}) {
        const BootTime now = lender.clock.now().boot;
        for (int i = 0; i < 4; ++i) lender.manager->tick();
        std::uint64_t due = 0;
        for (const Grant& grant : grants) due += grant.deadline <= now ? 1 : 0;
        BOOST_REQUIRE_LE(lender.manager->statistics().expired, due);
        if (now < first) BOOST_REQUIRE_EQUAL(lender.manager->statistics().expired, 0);
        const std::chrono::nanoseconds step{100'000};
        lender.clock.advance(now < first - milliseconds{5} ? first - milliseconds{5} - now : step);
    }
    for (int i = 0; i < 8; ++i) lender.manager->tick();
    BOOST_CHECK_EQUAL(lender.manager->statistics().expired, grants.size());
    BOOST_CHECK(!lender.manager->audit_invariants());
}

// One tick does not clean up all of them. The budget of a tick is not a multiple of what a session
// needs, so a tick also ends within a group of sessions.
BOOST_AUTO_TEST_CASE(are_cleaned_up_in_several_ticks_if_they_have_many_locks) {
    constexpr std::size_t sessions = 300;
    constexpr std::size_t locks = 6;
    Lender lender;
    for (std::size_t i = 0; i < sessions; ++i) {
        const auto name = "a" + std::to_string(i);
        const SessionId session = lender.lend(name).session;
        for (std::size_t lock = 1; lock < locks; ++lock) {
            lender.lend(name + "/" + std::to_string(lock), session);
        }
    }
    lender.clock.advance(std::chrono::seconds{1});
    std::uint64_t before = 0;
    int ticks = 0;
    while (before < sessions * locks) {
        lender.manager->tick();
        const auto expired = lender.manager->statistics().expired;
        BOOST_REQUIRE_GT(expired, before);
        BOOST_REQUIRE(!lender.manager->audit_invariants());
        before = expired;
        ++ticks;
    }
    BOOST_CHECK_GT(ticks, 1);
    BOOST_CHECK(lender.manager->sessions("").value().empty());
}

// The table does not check a session more often because the session renews itself.
BOOST_AUTO_TEST_CASE(are_left_alone_when_they_were_renewed) {
    Lender lender;
    const auto grants = lend_many(lender, 300);
    lender.pass(milliseconds{500});
    for (const Grant& grant : grants) BOOST_REQUIRE(!lender.renewal_refused(grant.session));
    lender.pass(milliseconds{505});
    BOOST_CHECK_EQUAL(lender.manager->statistics().expired, 0);
    const auto next = lender.manager->tick();
    BOOST_REQUIRE(next);
    BOOST_CHECK(*next > lender.clock.now().boot + milliseconds{400});
    lender.pass(milliseconds{500});
    for (int i = 0; i < 8; ++i) lender.manager->tick();
    BOOST_CHECK_EQUAL(lender.manager->statistics().expired, grants.size());
}

// With a background thread, which serves the waiters in decisions of their own.
BOOST_AUTO_TEST_CASE(are_cleaned_up_after_the_waiters_are_served) {
    constexpr std::size_t count = 2000;
    constexpr std::size_t waiting = 300;
    SimulatedClock clock;
    const auto storage = make_memory_storage(clock);
    const auto manager = LockManager::open(*storage, clock).value();
    for (std::size_t i = 0; i < count; ++i) {
        Acquire request;
        request.opens.emplace().principal = "ann";
        request.opens->lease = std::chrono::seconds{1};
        request.locks = {{.resource = "a" + std::to_string(i)}};
        BOOST_REQUIRE(manager->ask(request));
    }
    OpenSession open;
    open.principal = "bob";
    open.lease = std::chrono::hours{1};
    const SessionId bob = manager->ask(open).value().id;
    std::vector<std::uint64_t> cleaned;
    const auto lookers = [&](const Result<Answer>& answer) {
        if (!answer) return;
        cleaned.push_back(manager->statistics().expired);
    };
    for (std::size_t i = 0; i < waiting; ++i) {
        Acquire request;
        request.session = bob;
        request.locks = {{.resource = "a" + std::to_string(i)}};
        request.patience = no_limit;
        manager->submit(request, lookers);
    }
    clock.advance(std::chrono::seconds{1});
    while (manager->statistics().expired < count) {
        // The background thread sleeps by the system's clock, so each request wakes it.
        manager->submit(RenewSession{bob, {}, {}, {}, {}}, [](const Result<Answer>&) {});
        std::this_thread::yield();
    }
    BOOST_REQUIRE(manager->close());
    BOOST_REQUIRE_EQUAL(cleaned.size(), waiting);
    // When the last waiter is granted, only the leases that the waiters took over have been cleaned
    // up.
    BOOST_CHECK_LE(cleaned.back(), waiting);
}

// A store whose Storage::congested() the test sets.
struct CongestedStorage : testing::ForwardingStorage {
    using ForwardingStorage::ForwardingStorage;
    bool congested() const override { return is_congested.load(); }

    std::atomic<bool> is_congested{false};
};

BOOST_AUTO_TEST_CASE(are_not_cleaned_up_while_the_storage_is_congested) {
    constexpr std::size_t count = 50;
    constexpr std::size_t waiting = 5;
    SimulatedClock clock;
    CongestedStorage storage{make_memory_storage(clock)};
    const auto manager = LockManager::open(storage, clock).value();
    for (std::size_t i = 0; i < count; ++i) {
        Acquire request;
        request.opens.emplace().principal = "ann";
        request.opens->lease = std::chrono::seconds{1};
        request.locks = {{.resource = "a" + std::to_string(i)}};
        BOOST_REQUIRE(manager->ask(request));
    }
    OpenSession open;
    open.principal = "bob";
    open.lease = std::chrono::hours{1};
    const SessionId bob = manager->ask(open).value().id;
    std::atomic<std::size_t> granted = 0;
    for (std::size_t i = 0; i < waiting; ++i) {
        Acquire request;
        request.session = bob;
        request.locks = {{.resource = "a" + std::to_string(i)}};
        request.patience = no_limit;
        manager->submit(request, [&](const Result<Answer>& answer) { granted += answer ? 1 : 0; });
    }
    // The background thread sleeps by the system's clock, so each request wakes it.
    const auto wake = [&] {
        BOOST_REQUIRE(manager->ask(RenewSession{bob, {}, {}, {}, {}}));
        std::this_thread::sleep_for(milliseconds{1});
    };
    storage.is_congested = true;
    clock.advance(std::chrono::seconds{1});
    while (granted < waiting) wake();
    for (int i = 0; i < 20; ++i) {
        clock.advance(milliseconds{1});
        wake();
    }
    BOOST_CHECK_LE(manager->statistics().expired, waiting);
    storage.is_congested = false;
    while (manager->statistics().expired < count) {
        clock.advance(milliseconds{1});
        wake();
    }
    BOOST_REQUIRE(manager->close());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace rocklock
