// A server that was stopped first serves the renewals that arrived in the meantime.
#include <chrono>
#include <optional>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/storage/storage.hpp>
#include <rocklock/testing/simulated_clock.hpp>

#include "lock/manager/lock_manager.hpp"

namespace rocklock {
namespace {

using std::chrono::milliseconds;
using testing::SimulatedClock;

// A manager as a server uses it. ann holds `a`; both sessions have a lease of one second.
struct Server {
    Server() : storage(make_memory_storage(clock)) {
        LockManagerOptions options;
        options.background = false;
        manager = LockManager::open(*storage, clock, options).value();
        manager->on_stall([this] { ++stalls; }, [this] { return unread_for; });
        ann = open("ann");
        bob = open("bob");
        Acquire acquire;
        acquire.session = ann;
        acquire.locks = {{.resource = "a"}};
        BOOST_REQUIRE(manager->ask(acquire));
    }

    SessionId open(const std::string& principal) {
        OpenSession request;
        request.principal = principal;
        request.lease = milliseconds{1000};
        return manager->ask(request).value().id;
    }

    // Returns the index at which the answer will be stored in `answers`.
    std::size_t submit(Request request) {
        const auto number = answers.size();
        answers.emplace_back();
        tickets.push_back(manager->submit(
            std::move(request),
            [this, number](Result<Answer> answer) { answers[number] = std::move(answer); }));
        manager->tick();
        return number;
    }
    std::size_t acquire(const SessionId& session, milliseconds patience = {}) {
        Acquire request;
        request.session = session;
        request.locks = {{.resource = "a"}};
        request.patience = patience;
        return submit(request);
    }
    std::size_t renew(const SessionId& session) {
        RenewSession request;
        request.session = session;
        return submit(request);
    }
    bool granted(std::size_t number) const { return answers[number] && *answers[number]; }
    void resume() {
        manager->resume();
        manager->tick();
    }

    SimulatedClock clock;
    std::unique_ptr<Storage> storage;
    std::vector<std::optional<Result<Answer>>> answers;
    std::vector<Ticket> tickets;
    int stalls = 0;
    std::chrono::nanoseconds unread_for{0};
    SessionId ann;
    SessionId bob;
    // Declared last: its destructor still uses the members above.
    std::unique_ptr<LockManager> manager;
};

BOOST_AUTO_TEST_SUITE(a_stalled_server)

BOOST_AUTO_TEST_CASE(renews_before_it_grants) {
    Server server;
    server.clock.advance(milliseconds{2000});
    const auto acquired = server.acquire(server.bob);
    BOOST_CHECK_EQUAL(server.stalls, 1);
    BOOST_CHECK(!server.answers[acquired]);
    const auto bobs = server.renew(server.bob);
    const auto anns = server.renew(server.ann);
    BOOST_REQUIRE(server.granted(anns));
    BOOST_REQUIRE(server.granted(bobs));
    BOOST_CHECK(std::get<SessionInfo>(**server.answers[anns]).remaining == milliseconds{1000});
    server.resume();
    BOOST_REQUIRE(server.answers[acquired]);
    BOOST_REQUIRE(!*server.answers[acquired]);
    BOOST_CHECK(server.answers[acquired]->error().code == ErrorCode::conflict);
}

BOOST_AUTO_TEST_CASE(ends_sessions_that_were_not_renewed) {
    Server server;
    const auto waits = server.acquire(server.bob, no_limit);
    server.clock.advance(milliseconds{2000});
    server.manager->tick();
    BOOST_CHECK_EQUAL(server.stalls, 1);
    BOOST_CHECK(!server.answers[waits]);
    BOOST_CHECK(server.granted(server.renew(server.bob)));
    server.resume();
    BOOST_CHECK(server.granted(waits));
    const auto late = server.renew(server.ann);
    BOOST_REQUIRE(server.answers[late]);
    BOOST_CHECK(!*server.answers[late]);
}

// The manager's own thread continues meanwhile and checks the time.
BOOST_AUTO_TEST_CASE(judges_renewals_that_arrived_during_the_stall_at_their_time) {
    Server server;
    for (int i = 0; i < 12; ++i) {
        server.clock.advance(milliseconds{100});
        server.unread_for += milliseconds{100};
        server.manager->tick();
    }
    BOOST_CHECK_EQUAL(server.stalls, 1);
    server.unread_for = milliseconds{0};
    const auto anns = server.renew(server.ann);
    BOOST_REQUIRE(server.granted(anns));
    server.resume();
    BOOST_CHECK(server.manager->holds(server.ann, "a", Mode::write));
}

BOOST_AUTO_TEST_CASE(shows_the_state_before_the_stall) {
    Server server;
    server.clock.advance(milliseconds{2000});
    server.manager->tick();
    BOOST_CHECK(server.manager->holds(server.ann, "a", Mode::write));
    BOOST_CHECK_EQUAL(server.manager->show("a").value().holders.size(), 1);
    server.resume();
    BOOST_CHECK(!server.manager->holds(server.ann, "a", Mode::write));
}

BOOST_AUTO_TEST_CASE(keeps_the_order_of_a_wait_and_its_withdrawal) {
    Server server;
    server.clock.advance(milliseconds{2000});
    const auto waits = server.acquire(server.bob, no_limit);
    server.renew(server.ann);
    server.renew(server.bob);
    server.manager->cancel(server.tickets[waits]);
    server.resume();
    BOOST_REQUIRE(server.answers[waits]);
    BOOST_CHECK(server.answers[waits]->error().code == ErrorCode::cancelled);
}

BOOST_AUTO_TEST_CASE(answers_deferred_requests_when_it_closes) {
    Server server;
    server.clock.advance(milliseconds{2000});
    const auto waits = server.acquire(server.bob, no_limit);
    BOOST_REQUIRE(server.manager->close());
    BOOST_REQUIRE(server.answers[waits]);
    BOOST_CHECK(server.answers[waits]->error().code == ErrorCode::closing);
}

BOOST_AUTO_TEST_CASE(is_not_detected_if_it_polls_often_enough) {
    Server server;
    for (int beat = 0; beat < 20; ++beat) {
        server.clock.advance(milliseconds{100});
        server.manager->tick();
    }
    BOOST_CHECK_EQUAL(server.stalls, 0);
    BOOST_CHECK(server.granted(server.acquire(server.open("cleo"))));
}

BOOST_AUTO_TEST_CASE(is_not_detected_without_sessions) {
    Server server;
    server.manager->ask(CloseSession{server.ann}).value();
    server.manager->ask(CloseSession{server.bob}).value();
    server.manager->tick();
    server.clock.advance(milliseconds{60'000});
    BOOST_CHECK(server.granted(server.acquire(server.open("cleo"))));
    BOOST_CHECK_EQUAL(server.stalls, 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace rocklock
