// AwaitNotices: a session learns of events that it has not caused itself when they are decided.
#include <chrono>
#include <map>
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
using std::chrono::seconds;
using testing::SimulatedClock;

// A manager without a background thread. The class "shared/*" asks holders before a steal.
struct Notified {
    Notified() : storage(make_memory_storage(clock)) {
        LockManagerOptions options;
        options.background = false;
        manager = LockManager::open(*storage, clock, options).value();
        LockClass shared;
        shared.pattern = "shared/*";
        shared.steal = StealPolicy::ask;
        shared.steal_after = seconds{10};
        manager->ask(PutClass{shared}).value();
    }

    SessionId open(const std::string& principal, milliseconds lease = seconds{60}) const {
        OpenSession request;
        request.principal = principal;
        request.lease = lease;
        return manager->ask(request).value().id;
    }
    Grant acquire(const SessionId& session, const std::string& resource) const {
        Acquire request;
        request.session = session;
        request.locks = {{.resource = resource}};
        return manager->ask(request).value();
    }
    void wait_for(const SessionId& session, const std::string& resource) const {
        Acquire request;
        request.session = session;
        request.locks = {{.resource = resource}};
        request.patience = no_limit;
        manager->submit(request, [](const Result<Answer>&) {});
    }
    std::optional<Error> steal(const SessionId& thief, GrantId grant) const {
        Steal request;
        request.session = thief;
        request.grant = grant;
        request.reason = "the month is closing";
        auto stolen = manager->ask(request);
        return stolen ? std::nullopt : std::optional(stolen.error());
    }

    // Returns the index of the answer in `answers`.
    std::size_t await(const SessionId& session, std::uint64_t after = 0,
                      milliseconds patience = no_limit) {
        const auto number = answers.size();
        answers.emplace_back();
        tickets.push_back(
            manager->submit(AwaitNotices{session, after, patience}, [this, number](auto answer) {
                BOOST_REQUIRE(!answers[number]);
                answers[number] = std::move(answer);
            }));
        manager->tick();
        return number;
    }
    bool answered(std::size_t number) {
        manager->tick();
        return answers[number].has_value();
    }
    Notices notices(std::size_t number) {
        BOOST_REQUIRE(answered(number));
        BOOST_REQUIRE(answers[number]->has_value());
        return std::get<Notices>(**answers[number]);
    }
    ErrorCode refusal(std::size_t number) {
        BOOST_REQUIRE(answered(number));
        BOOST_REQUIRE(!answers[number]->has_value());
        return answers[number]->error().code;
    }
    void pass(milliseconds time) {
        clock.advance(time);
        manager->tick();
    }

    SimulatedClock clock;
    std::unique_ptr<Storage> storage;
    // Used by the completions that close() calls, so they are destroyed after the manager.
    std::vector<std::optional<Result<Answer>>> answers;
    std::vector<Ticket> tickets;
    std::unique_ptr<LockManager> manager;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(a_session_that_awaits_notices, Notified)

BOOST_AUTO_TEST_CASE(learns_of_a_lost_grant_at_once) {
    const SessionId ann = open("ann");
    const Grant grant = acquire(ann, "a");
    const auto waits = await(ann);
    BOOST_TEST(!answered(waits));
    manager->ask(Break{grant.id, "it is late", "root"}).value();
    const Notices seen = notices(waits);
    BOOST_REQUIRE(seen.lost.size() == 1U);
    BOOST_TEST((seen.lost[0].grant == grant.id));
    BOOST_TEST((seen.lost[0].ending.outcome == Outcome::broken));
    BOOST_TEST(seen.lost[0].ending.reason == "it is late");
    BOOST_TEST(seen.after == seen.lost[0].number);
    BOOST_TEST((seen.wanted.empty() && seen.answers.empty()));
}

BOOST_AUTO_TEST_CASE(learns_of_waiters_and_of_requests_to_take_over_with_their_reasons) {
    const SessionId ann = open("ann");
    const SessionId bob = open("bob");
    const Grant grant = acquire(ann, "shared/a");
    const auto first = await(ann);
    wait_for(bob, "shared/a");
    const Notices waiter = notices(first);
    BOOST_REQUIRE(waiter.wanted.size() == 1U);
    BOOST_TEST(waiter.wanted[0].by == "bob");
    BOOST_TEST(waiter.wanted[0].reason.empty());
    BOOST_TEST(!waiter.wanted[0].answer_by.has_value());
    const auto second = await(ann, waiter.after);
    BOOST_TEST(!answered(second));
    const SessionId eve = open("eve");
    BOOST_REQUIRE(steal(eve, grant.id).has_value());
    const Notices request = notices(second);
    BOOST_REQUIRE(request.wanted.size() == 1U);
    BOOST_TEST(request.wanted[0].by == "eve");
    BOOST_TEST(request.wanted[0].reason == "the month is closing");
    BOOST_TEST(request.wanted[0].answer_by.has_value());
    BOOST_TEST(request.after > waiter.after);
}

// A request for several locks asks each holder for the mode of its resource.
BOOST_AUTO_TEST_CASE(learns_which_mode_of_its_resource_is_requested) {
    const SessionId ann = open("ann");
    const SessionId bob = open("bob");
    for (const char* name : {"a", "b", "c/d"}) acquire(ann, name);
    Acquire request;
    request.session = bob;
    request.patience = no_limit;
    request.locks.resize(3);
    request.locks[0].resource = "a";
    request.locks[0].mode = Mode::read;
    request.locks[1].resource = "b";
    request.locks[1].mode = Mode::write;
    request.locks[2].resource = "c";
    request.locks[2].mode = Mode::exclusive;
    request.locks[2].subtree = true;
    tickets.push_back(manager->submit(std::move(request), [](const auto&) {}));
    manager->tick();
    std::map<std::string, Mode> modes;
    for (const Wanted& wanted : notices(await(ann)).wanted) modes[wanted.resource] = wanted.mode;
    BOOST_TEST(modes.size() == 3U);
    BOOST_TEST((modes["a"] == Mode::read));
    BOOST_TEST((modes["b"] == Mode::write));
    BOOST_TEST((modes["c/d"] == Mode::exclusive));
}

BOOST_AUTO_TEST_CASE(learns_of_the_answer_to_its_request_to_take_over) {
    const SessionId ann = open("ann");
    const Grant grant = acquire(ann, "shared/a");
    for (const bool allow : {false, true}) {
        const SessionId bob = open(allow ? "bob" : "eve");
        BOOST_REQUIRE(steal(bob, grant.id).has_value());
        const auto waits = await(bob);
        BOOST_TEST(!answered(waits));
        manager->ask(AnswerWanted{ann, grant.id, allow}).value();
        const Notices seen = notices(waits);
        BOOST_REQUIRE(seen.answers.size() == 1U);
        const TakeOverAnswer& answer = seen.answers[0];
        BOOST_TEST((answer.grant == grant.id));
        BOOST_TEST(answer.resource == "shared/a");
        BOOST_TEST(answer.by == "ann");
        BOOST_TEST(answer.allowed == allow);
        BOOST_TEST(answer.ask_again.has_value() == !allow);
        if (!allow) BOOST_TEST((*answer.ask_again - clock.now().wall == seconds{10}));
        BOOST_TEST(steal(bob, grant.id).has_value() == !allow);
    }
}

BOOST_AUTO_TEST_CASE(gets_a_notice_again_until_it_has_confirmed_it) {
    const SessionId ann = open("ann");
    const Grant grant = acquire(ann, "a");
    manager->ask(Break{grant.id, "it is late", "root"}).value();
    const Notices first = notices(await(ann));
    BOOST_REQUIRE(first.lost.size() == 1U);
    // The response may have been lost with the connection.
    const Notices again = notices(await(ann));
    BOOST_REQUIRE(again.lost.size() == 1U);
    BOOST_TEST(again.lost[0].number == first.lost[0].number);
    BOOST_TEST(!answered(await(ann, again.after)));
}

BOOST_AUTO_TEST_CASE(does_not_get_a_notice_that_a_renewal_has_returned) {
    const SessionId ann = open("ann");
    const Grant grant = acquire(ann, "a");
    manager->ask(Break{grant.id, "it is late", "root"}).value();
    RenewSession renewal;
    renewal.session = ann;
    BOOST_TEST(manager->ask(renewal).value().lost.size() == 1U);
    BOOST_TEST(!answered(await(ann)));
}

BOOST_AUTO_TEST_CASE(is_not_renewed) {
    const SessionId ann = open("ann", seconds{5});
    const auto waits = await(ann);
    pass(seconds{4});
    BOOST_TEST(!answered(waits));
    pass(seconds{2});
    BOOST_TEST((refusal(waits) == ErrorCode::session_expired));
}

BOOST_AUTO_TEST_CASE(gets_an_empty_response_after_its_wait_timeout) {
    const SessionId ann = open("ann");
    const auto waits = await(ann, 7, seconds{2});
    pass(milliseconds{1'999});
    BOOST_TEST(!answered(waits));
    pass(milliseconds{1});
    const Notices seen = notices(waits);
    BOOST_TEST(seen.empty());
    BOOST_TEST(seen.after == 7U);
    BOOST_TEST(notices(await(ann, 7, milliseconds{0})).empty());
}

BOOST_AUTO_TEST_CASE(can_cancel_its_wait) {
    const SessionId ann = open("ann");
    const auto waits = await(ann);
    manager->cancel(tickets[waits]);
    BOOST_TEST((refusal(waits) == ErrorCode::cancelled));
    // The wait is gone: a later event is kept for the next one.
    const Grant grant = acquire(ann, "a");
    manager->ask(Break{grant.id, "it is late", "root"}).value();
    BOOST_TEST(notices(await(ann)).lost.size() == 1U);
}

// The callback of on_lost() is called only for sessions for which `concerns` returns true. The
// notices of the session itself do not depend on it.
BOOST_AUTO_TEST_CASE(is_reported_to_the_callback_for_the_selected_sessions) {
    const SessionId ann = open("ann");
    const SessionId bob = open("bob");
    std::vector<LostNotice> lost;
    const auto collect = [&](const LostNotice& notice) { lost.push_back(notice); };
    const auto lose = [&] {
        for (const SessionId& session : {ann, bob}) {
            const Grant grant = acquire(session, "a");
            manager->ask(Break{grant.id, "it is late", "root"}).value();
        }
        manager->tick();
    };
    lose();
    manager->on_lost(collect, [&](const SessionId& id) { return id == bob; });
    lose();
    BOOST_REQUIRE(lost.size() == 1U);
    BOOST_TEST((lost[0].session == bob));
    BOOST_TEST(lost[0].grant.locks.at(0).resource == "a");
    BOOST_TEST(lost[0].ending.reason == "it is late");
    manager->on_lost(collect);
    lose();
    BOOST_TEST(lost.size() == 3U);
    manager->on_lost({});
    lose();
    BOOST_TEST(lost.size() == 3U);
    BOOST_TEST(notices(await(ann)).lost.size() == 4U);
    BOOST_TEST(notices(await(bob)).lost.size() == 4U);
}

BOOST_AUTO_TEST_CASE(learns_that_it_was_ended) {
    const SessionId ann = open("ann");
    acquire(ann, "a");
    const auto waits = await(ann);
    manager->ask(EndSession{ann, "maintenance", "root"}).value();
    BOOST_TEST((refusal(waits) == ErrorCode::session_expired));
    BOOST_REQUIRE(answers[waits]->error().ended.has_value());
    BOOST_TEST(answers[waits]->error().ended->reason == "maintenance");
}

BOOST_AUTO_TEST_CASE(has_at_most_four_waits_and_each_gets_the_notices) {
    const SessionId ann = open("ann");
    const Grant grant = acquire(ann, "a");
    for (int i = 0; i < 4; ++i) await(ann);
    const auto fifth = await(ann);
    BOOST_TEST((refusal(fifth) == ErrorCode::limit_exceeded));
    BOOST_TEST(answers[fifth]->error().limit.value_or(0) == 4U);
    manager->ask(Break{grant.id, "it is late", "root"}).value();
    for (std::size_t i = 0; i < 4; ++i) BOOST_TEST(notices(i).lost.size() == 1U);
}

BOOST_AUTO_TEST_CASE(leaves_nothing_behind_when_its_client_disconnects) {
    const SessionId ann = open("ann");
    const auto waits = await(ann);
    manager->disconnect({{tickets[waits]}, {CloseSession{ann, "its connection has ended"}}, {}});
    BOOST_TEST((refusal(waits) == ErrorCode::cancelled));
    BOOST_TEST(manager->audit_invariants().value_or("") == "");
    BOOST_TEST(manager->sessions("ann").value().empty());
}

BOOST_AUTO_TEST_SUITE_END()

// The numbers of notices increase across restarts, so that a client can confirm what it has seen.
BOOST_AUTO_TEST_CASE(notices_have_increasing_numbers_across_a_restart) {
    Notified before;
    const SessionId ann = before.open("ann");
    before.manager->ask(Break{before.acquire(ann, "a").id, "it is late", "root"}).value();
    const auto number = before.notices(before.await(ann)).lost.at(0).number;
    before.manager->close().value();
    LockManagerOptions options;
    options.background = false;
    before.manager = LockManager::open(*before.storage, before.clock, options).value();
    before.manager->ask(Break{before.acquire(ann, "a").id, "it is late", "root"}).value();
    const Notices after = before.notices(before.await(ann, number));
    BOOST_REQUIRE(after.lost.size() == 1U);
    BOOST_TEST(after.lost[0].number > number);
}

}  // namespace rocklock
