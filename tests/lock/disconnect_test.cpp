// Several clients disconnect at the same time: what happens to their waits and sessions.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/storage/storage.hpp>
#include <rocklock/testing/simulated_clock.hpp>

#include "lock/manager/lock_manager.hpp"

namespace rocklock {
namespace {

using std::chrono::milliseconds;
using testing::SimulatedClock;

// A manager without a background thread.
struct Crowd {
    Crowd() : storage(make_memory_storage(clock)) {
        LockManagerOptions options;
        options.background = false;
        options.events_kept = 100;
        manager = LockManager::open(*storage, clock, options).value();
        manager->on_stall([] {});
    }

    SessionId open(const std::string& principal) const {
        OpenSession request;
        request.principal = principal;
        return manager->ask(request).value().id;
    }

    // Requests `a`. Returns the index at which the answer will be stored in `answers`.
    std::size_t ask(const SessionId& session) {
        const auto number = answers.size();
        answers.emplace_back();
        Acquire request;
        request.session = session;
        request.locks = {{.resource = "a"}};
        request.patience = no_limit;
        tickets.push_back(manager->submit(request, [this, number](Result<Answer> answer) {
            BOOST_REQUIRE(!answers[number]);
            answers[number] = std::move(answer);
        }));
        manager->tick();
        return number;
    }
    bool granted(std::size_t number) const { return answers[number] && *answers[number]; }
    bool refused(std::size_t number, ErrorCode code) const {
        return answers[number] && !*answers[number] && answers[number]->error().code == code;
    }

    SimulatedClock clock;
    std::unique_ptr<Storage> storage;
    std::vector<std::optional<Result<Answer>>> answers;
    std::vector<Ticket> tickets;
    // Declared last: its destructor still uses the members above.
    std::unique_ptr<LockManager> manager;
};

BOOST_AUTO_TEST_SUITE(clients_that_disconnect)

BOOST_AUTO_TEST_CASE(leave_no_state_to_each_other) {
    Crowd crowd;
    const auto ann = crowd.open("ann");
    const auto bob = crowd.open("bob");
    const auto cleo = crowd.open("cleo");
    const auto anns = crowd.ask(ann);
    BOOST_REQUIRE(crowd.granted(anns));
    const auto bobs = crowd.ask(bob);
    const auto again = crowd.ask(bob);
    const auto cleos = crowd.ask(cleo);
    crowd.manager->disconnect({{crowd.tickets[bobs]}, {{ann, "gone"}, {bob, "gone"}}});
    // These answers need no commit, so they are delivered at once.
    BOOST_TEST(crowd.refused(bobs, ErrorCode::cancelled));
    BOOST_TEST(crowd.refused(again, ErrorCode::session_expired));
    crowd.manager->tick();
    BOOST_TEST(crowd.granted(cleos));
    BOOST_TEST(crowd.manager->statistics().granted == 2U);
    BOOST_TEST(crowd.manager->history({.resource = "a"}).value().rows.size() == 2U);
    BOOST_TEST(!crowd.manager->audit_invariants());
    // Waits and sessions that have already ended are ignored.
    crowd.manager->disconnect(
        {{crowd.tickets[bobs], crowd.tickets[cleos]}, {{ann}, {SessionId{}}}});
    BOOST_TEST(crowd.manager->holds(cleo, "a", Mode::write));
}

BOOST_AUTO_TEST_CASE(watch_no_more) {
    Crowd crowd;
    std::optional<ErrorCode> reported;
    WatchRequest request;
    request.patience = no_limit;
    const auto ticket = crowd.manager->submit_watch(
        request, [&](const Result<EventPage>& page) { reported = page.error().code; });
    crowd.manager->disconnect({{ticket}, {}});
    BOOST_REQUIRE(reported.has_value());
    BOOST_TEST((*reported == ErrorCode::cancelled));
}

BOOST_AUTO_TEST_CASE(during_a_stall_wait_for_renewals_that_came_in_time) {
    Crowd crowd;
    const auto ann = crowd.open("ann");
    const auto bob = crowd.open("bob");
    crowd.ask(ann);
    const auto bobs = crowd.ask(bob);
    crowd.clock.advance(2 * limits::lease_default);
    crowd.manager->disconnect({{}, {{ann}}});
    BOOST_TEST(!crowd.answers[bobs]);
    RenewSession renewal;
    renewal.session = bob;
    bool renewed = false;
    crowd.manager->submit(renewal,
                          [&](const Result<Answer>& answer) { renewed = answer.has_value(); });
    crowd.manager->tick();
    BOOST_TEST(renewed);
    crowd.manager->resume();
    crowd.manager->tick();
    BOOST_TEST(crowd.granted(bobs));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace rocklock
