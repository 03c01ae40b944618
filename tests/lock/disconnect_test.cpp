// Several clients disconnect at the same time: what happens to their waits and sessions.
#include <chrono>
#include <functional>
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

// A grant whose response was lost: `lost` gives it back as the server does.
struct Undelivered : Crowd {
    explicit Undelivered(Held held = Held::refuse) : ann(open("ann")), grant(acquire(held)) {}

    Grant acquire(Held held) const {
        Acquire request;
        request.session = ann;
        request.locks = {{.resource = "a"}};
        request.held = held;
        return manager->ask(request).value();
    }
    Grant acquire_alone() const {
        Acquire request;
        request.opens.emplace().principal = "bob";
        request.locks = {{.resource = "b"}};
        return manager->ask(request).value();
    }
    void lost(const Grant& lost) const {
        manager->disconnect({{}, {}, {{lost.session, lost.id, lost.own_session.has_value()}}});
        BOOST_TEST(!manager->audit_invariants());
    }
    bool held() const { return manager->holds(ann, "a", Mode::write); }

    SessionId ann;
    Grant grant;
};

BOOST_AUTO_TEST_CASE(give_back_a_grant_that_they_never_learned_of) {
    const Undelivered grant;
    const auto alone = grant.acquire_alone();
    grant.lost(grant.grant);
    grant.lost(alone);
    BOOST_TEST(!grant.held());
    BOOST_TEST(grant.manager->show("b").value().holders.empty());
    // Its session has ended with it.
    const auto session = grant.manager->authenticate(alone.session, alone.own_session->secret);
    BOOST_TEST((session.error().code == ErrorCode::session_expired));
    // Giving it back again has no effect.
    grant.acquire(Held::refuse);
    grant.lost(grant.grant);
    BOOST_TEST(grant.held());
}

BOOST_AUTO_TEST_CASE(keep_a_grant_whose_session_has_named_it) {
    const std::vector<std::function<void(const Undelivered&)>> calls{
        [](const Undelivered& at) {
            Convert convert;
            convert.session = at.ann;
            convert.grant = at.grant.id;
            convert.mode = Mode::exclusive;
            BOOST_REQUIRE(at.manager->ask(convert));
        },
        // The call is refused, but names the grant.
        [](const Undelivered& at) {
            Transfer transfer;
            transfer.session = at.ann;
            transfer.grant = at.grant.id;
            BOOST_REQUIRE(!at.manager->ask(transfer));
        },
        [](const Undelivered& at) {
            AnswerWanted answer;
            answer.session = at.ann;
            answer.grant = at.grant.id;
            BOOST_REQUIRE(at.manager->ask(answer));
        },
        [](const Undelivered& at) { at.acquire(Held::join); },
        [](const Undelivered& at) { at.manager->note_token(at.ann, at.grant.token); },
        [](const Undelivered& at) {
            BOOST_REQUIRE(at.manager->fence({at.ann, at.grant.token, "a"}));
        },
        [](const Undelivered& at) {
            BOOST_REQUIRE(at.manager->fence({at.ann, {}, "a"}));
        },
    };
    for (const auto& call : calls) {
        const Undelivered at;
        call(at);
        at.lost(at.grant);
        BOOST_TEST(at.held());
    }
}

BOOST_AUTO_TEST_CASE(give_back_a_grant_after_calls_that_do_not_name_it) {
    const Undelivered at;
    const auto bob = at.open("bob");
    RenewSession renewal;
    renewal.session = at.ann;
    BOOST_REQUIRE(at.manager->ask(renewal));
    BOOST_REQUIRE(!at.manager->fence({at.ann, {}, "another"}));
    // Another session names it.
    Release release;
    release.session = bob;
    release.grant = at.grant.id;
    BOOST_REQUIRE(!at.manager->ask(release));
    at.manager->note_token(bob, at.grant.token);
    at.lost(at.grant);
    BOOST_TEST(!at.held());
}

// The id and the secret of such a session are in the response that grants the lock.
BOOST_AUTO_TEST_CASE(keep_a_grant_whose_own_session_was_presented) {
    const Undelivered at;
    const auto alone = at.acquire_alone();
    BOOST_REQUIRE(!at.manager->authenticate(alone.session, {}));
    BOOST_REQUIRE(at.manager->authenticate(alone.session, alone.own_session->secret));
    at.lost(alone);
    BOOST_TEST(at.manager->holds(alone.session, "b", Mode::write));
}

BOOST_AUTO_TEST_CASE(lose_one_count_with_one_response) {
    const Undelivered at(Held::count);
    at.manager->note_token(at.ann, at.grant.token);
    const auto again = at.acquire(Held::count);
    BOOST_REQUIRE(again.count == 1U);
    at.lost(again);
    BOOST_TEST(at.acquire(Held::count).count == 1U);
    at.lost(again);
    BOOST_TEST(at.held());
    at.lost(again);
    BOOST_TEST(at.held());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace rocklock
