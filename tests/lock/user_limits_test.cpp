// The limits on the sessions, grants and other objects of one user.
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/storage/storage.hpp>
#include <rocklock/testing/simulated_clock.hpp>

#include "lock/manager/lock_manager.hpp"

namespace rocklock {
namespace {

using std::chrono::milliseconds;

constexpr std::uint32_t ann = 1000;
constexpr std::uint32_t bob = 1001;

struct Limited {
    explicit Limited(const UserLimits& chosen)
        : limits(chosen), storage(make_memory_storage(clock)) {
        start();
    }

    void start() {
        LockManagerOptions options;
        options.background = false;
        options.table.user_limits = limits;
        manager.reset();
        manager = LockManager::open(*storage, clock, options).value();
    }

    Result<SessionInfo> open(std::uint32_t uid, const std::string& note = "") {
        OpenSession request;
        request.principal = "p" + std::to_string(uid);
        request.uid = uid;
        request.lease = std::chrono::hours{1};
        request.note = note;
        return manager->ask(request);
    }
    Result<Grant> acquire(const SessionId& session, std::vector<std::string> names) {
        Acquire request;
        request.session = session;
        for (std::string& name : names) request.locks.push_back({.resource = std::move(name)});
        return manager->ask(request);
    }
    Result<Grant> acquire_alone(std::uint32_t uid, const std::string& name) {
        Acquire request;
        request.opens.emplace().principal = "p";
        request.opens->uid = uid;
        request.locks = {{.resource = name}};
        return manager->ask(request);
    }
    Ticket wait_for(const SessionId& session, const std::string& name) {
        Acquire request;
        request.session = session;
        request.locks = {{.resource = name}};
        request.patience = no_limit;
        const Ticket ticket = manager->submit(
            request, [this](Result<Answer> answer) { answers.push_back(std::move(answer)); });
        manager->tick();
        return ticket;
    }
    void is_sound() { BOOST_TEST(manager->audit_invariants().value_or("") == ""); }

    testing::SimulatedClock clock;
    const UserLimits limits;
    std::unique_ptr<Storage> storage;
    std::vector<Result<Answer>> answers;
    // Declared last: its destructor still uses the members above.
    std::unique_ptr<LockManager> manager;
};

template <typename T>
std::string refusal_of(const Result<T>& result) {
    return result ? "" : std::string(to_string(result.error().code));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(a_user_with_limits)

BOOST_AUTO_TEST_CASE(has_a_maximum_number_of_sessions) {
    Limited limited({.sessions = 2});
    const auto first = limited.open(ann).value();
    BOOST_TEST(refusal_of(limited.acquire_alone(ann, "a")) == "");
    const auto third = limited.open(ann);
    BOOST_TEST(refusal_of(third) == "limit_exceeded");
    BOOST_TEST(third.error().limit.value() == 2U);
    BOOST_TEST(third.error().message.find("max-user-sessions") != std::string::npos);
    BOOST_TEST(refusal_of(limited.acquire_alone(ann, "b")) == "limit_exceeded");
    BOOST_TEST(refusal_of(limited.open(bob)) == "");
    limited.is_sound();
    // The count is the same after a restart.
    limited.start();
    BOOST_TEST(refusal_of(limited.open(ann)) == "limit_exceeded");
    BOOST_TEST(refusal_of(limited.manager->ask(CloseSession{first.id})) == "");
    limited.manager->tick();
    BOOST_TEST(refusal_of(limited.open(ann)) == "");
    limited.is_sound();
}

BOOST_AUTO_TEST_CASE(has_a_maximum_number_of_grants_in_all_sessions) {
    Limited limited({.grants = 3});
    const auto first = limited.open(ann).value().id;
    const auto second = limited.open(ann).value().id;
    const Grant grant = limited.acquire(first, {"a", "b"}).value();
    BOOST_TEST(refusal_of(limited.acquire(second, {"c"})) == "");
    BOOST_TEST(refusal_of(limited.acquire(second, {"d"})) == "");
    BOOST_TEST(refusal_of(limited.acquire(first, {"e"})) == "limit_exceeded");
    BOOST_TEST(refusal_of(limited.acquire(limited.open(bob).value().id, {"e"})) == "");
    limited.start();
    BOOST_TEST(refusal_of(limited.acquire(first, {"f"})) == "limit_exceeded");
    BOOST_TEST(refusal_of(limited.manager->ask(Release{first, grant.id})) == "");
    BOOST_TEST(refusal_of(limited.acquire(first, {"f"})) == "");
    limited.is_sound();
}

BOOST_AUTO_TEST_CASE(has_a_maximum_number_of_waiting_requests) {
    Limited limited({.grants = 4, .waiters = 2});
    const auto holder = limited.open(bob).value().id;
    BOOST_TEST(refusal_of(limited.acquire(holder, {"a"})) == "");
    const auto session = limited.open(ann).value().id;
    limited.wait_for(session, "a");
    const Ticket second = limited.wait_for(limited.open(ann).value().id, "a");
    BOOST_TEST(limited.answers.empty());
    limited.wait_for(limited.open(ann).value().id, "a");
    BOOST_REQUIRE(limited.answers.size() == 1U);
    BOOST_TEST(refusal_of(limited.answers.front()) == "limit_exceeded");
    // Waiting requests count as well as grants.
    BOOST_TEST(refusal_of(limited.acquire(session, {"b"})) == "");
    BOOST_TEST(refusal_of(limited.acquire(session, {"c"})) == "");
    BOOST_TEST(refusal_of(limited.acquire(session, {"d"})) == "limit_exceeded");
    limited.manager->cancel(second);
    limited.manager->tick();
    BOOST_TEST(refusal_of(limited.acquire(session, {"d"})) == "");
    limited.is_sound();
}

BOOST_AUTO_TEST_CASE(has_a_maximum_memory_for_names_and_notes) {
    Limited limited({.lock_bytes = 100'000});
    const auto session = limited.open(ann).value().id;
    const auto set_of = [](char first) {
        std::vector<std::string> names;
        for (int i = 0; i < 20; ++i) {
            names.push_back(std::string(1'000, first) + std::to_string(i));
        }
        return names;
    };
    const Grant grant = limited.acquire(session, set_of('a')).value();
    BOOST_TEST(refusal_of(limited.acquire(session, set_of('b'))) == "");
    BOOST_TEST(refusal_of(limited.acquire(session, set_of('c'))) == "limit_exceeded");
    BOOST_TEST(refusal_of(limited.acquire(session, {"small"})) == "");
    BOOST_TEST(refusal_of(limited.manager->ask(Release{session, grant.id})) == "");
    BOOST_TEST(refusal_of(limited.acquire(session, set_of('c'))) == "");
    limited.is_sound();
}

BOOST_AUTO_TEST_CASE(cannot_exceed_them_by_a_transfer_or_a_steal) {
    Limited limited({.grants = 1});
    const auto owner = limited.open(ann).value().id;
    const auto full = limited.open(bob).value().id;
    const auto empty = limited.open(1002).value().id;
    const Grant grant = limited.acquire(owner, {"a"}).value();
    const Grant kept = limited.acquire(full, {"b"}).value();
    BOOST_TEST(refusal_of(limited.manager->ask(Transfer{owner, grant.id, full})) ==
               "limit_exceeded");
    LockClass stealable;
    stealable.pattern = "*";
    stealable.steal = StealPolicy::anyone;
    BOOST_REQUIRE(limited.manager->ask(PutClass{stealable}).has_value());
    BOOST_TEST(refusal_of(limited.manager->ask(Steal{full, grant.id, "urgent"})) ==
               "limit_exceeded");
    BOOST_TEST(refusal_of(limited.manager->ask(Transfer{owner, grant.id, empty})) == "");
    // A transfer between two sessions of one user does not change the count.
    const auto second = limited.open(bob).value().id;
    BOOST_TEST(refusal_of(limited.manager->ask(Transfer{full, kept.id, second})) == "");
    limited.is_sound();
}

BOOST_AUTO_TEST_CASE(cannot_exceed_them_by_longer_notes) {
    Limited limited({.lock_bytes = 8'000});
    const auto session = limited.open(ann).value().id;
    RenewSession renew;
    renew.session = session;
    renew.note = std::string(4'000, 'x');
    BOOST_TEST(refusal_of(limited.manager->ask(renew)) == "limit_exceeded");
    renew.note = std::string(1'000, 'x');
    BOOST_TEST(refusal_of(limited.manager->ask(renew)) == "");
    // A renewal without a note always succeeds.
    renew.note.reset();
    BOOST_TEST(refusal_of(limited.manager->ask(renew)) == "");
    limited.is_sound();
}

BOOST_AUTO_TEST_CASE(is_listed_in_the_statistics) {
    Limited limited({.sessions = 10});
    const auto session = limited.open(bob).value().id;
    limited.open(ann).value();
    limited.acquire(session, {"a"}).value();
    const auto users = limited.manager->statistics().users;
    BOOST_REQUIRE(users.size() == 2U);
    BOOST_TEST(users[0].uid == ann);
    BOOST_TEST(users[0].sessions == 1U);
    BOOST_TEST(users[0].grants == 0U);
    BOOST_TEST(users[1].uid == bob);
    BOOST_TEST(users[1].grants == 1U);
    BOOST_TEST(users[1].lock_bytes > 0U);
    BOOST_TEST(Limited({}).manager->statistics().users.empty());
}

BOOST_AUTO_TEST_CASE(has_correct_counts_after_every_kind_of_operation) {
    Limited limited({.sessions = 6, .grants = 12, .waiters = 4, .lock_bytes = 60'000});
    std::mt19937 random(7);
    std::vector<SessionId> sessions;
    std::vector<Grant> grants;
    for (int step = 0; step < 3'000; ++step) {
        const auto dice = random() % 100;
        const std::uint32_t uid = random() % 2 == 0 ? ann : bob;
        const std::string name = "n" + std::to_string(random() % 20);
        if (dice < 10 || sessions.empty()) {
            if (const auto opened = limited.open(uid, name)) sessions.push_back(opened->id);
        } else if (dice < 50) {
            if (auto grant = limited.acquire(sessions[random() % sessions.size()], {name})) {
                grants.push_back(*std::move(grant));
            }
        } else if (dice < 60) {
            limited.wait_for(sessions[random() % sessions.size()], name);
        } else if (dice < 80 && !grants.empty()) {
            const Grant& grant = grants[random() % grants.size()];
            [[maybe_unused]] const auto gone =
                limited.manager->ask(Release{grant.session, grant.id});
        } else if (dice < 85) {
            RenewSession renew;
            renew.session = sessions[random() % sessions.size()];
            renew.note = std::string(random() % 200, 'x');
            [[maybe_unused]] const auto renewed = limited.manager->ask(renew);
        } else if (dice < 90) {
            [[maybe_unused]] const auto closed =
                limited.manager->ask(CloseSession{sessions[random() % sessions.size()]});
        } else if (dice < 92) {
            [[maybe_unused]] const auto ended = limited.manager->ask(
                EndSession{sessions[random() % sessions.size()], "why", "root"});
        } else if (dice < 94 && !grants.empty()) {
            const Grant& grant = grants[random() % grants.size()];
            [[maybe_unused]] const auto moved = limited.manager->ask(
                Transfer{grant.session, grant.id, sessions[random() % sessions.size()]});
        } else if (dice == 94) {
            limited.start();
        } else if (dice == 95) {
            limited.clock.advance(std::chrono::minutes{random() % 50});
        }
        limited.manager->tick();
        BOOST_REQUIRE(!limited.manager->audit_invariants());
    }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(the_name_of_a_resource)

BOOST_AUTO_TEST_CASE(has_at_most_64_parts) {
    Limited limited({});
    const auto session = limited.open(ann).value().id;
    std::string name = "a";
    for (int i = 1; i < 64; ++i) name += "/a";
    BOOST_TEST(refusal_of(limited.acquire(session, {name})) == "");
    const auto deeper = limited.acquire(session, {name + "/a"});
    BOOST_REQUIRE(refusal_of(deeper) == "invalid_argument");
    BOOST_TEST(deeper.error().message.find("65 parts") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock
