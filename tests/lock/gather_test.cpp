// A server that has many requests decided before it has any of them told.
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/clock.hpp>
#include <rocklock/storage.hpp>
#include <rocklock/testing/faulty_storage.hpp>

#include "lock/lock_manager.hpp"

namespace rocklock {
namespace {

using testing::FaultyStorage;

// A manager with its thread, and a session whose lease has nothing to do with it.
struct Server {
    explicit Server(std::unique_ptr<Storage> used, const LockManagerOptions& options = {})
        : storage(std::move(used)) {
        manager = LockManager::open(*storage, system_clock(), options).value();
        session = open("ann");
    }

    SessionId open(const std::string& principal) {
        OpenSession request;
        request.principal = principal;
        request.lease = std::chrono::hours{1};
        return manager->ask(request).value().id;
    }

    void acquire(const std::string& resource, std::chrono::milliseconds patience = {}) {
        Acquire request;
        request.session = session;
        request.locks = {{.resource = resource}};
        request.patience = patience;
        gather(std::move(request));
    }
    void gather(Request request) {
        const auto number = count++;
        manager->gather(std::move(request), [this, number](Result<Answer> answer) {
            const std::lock_guard lock(mutex);
            if (answers.size() <= number) answers.resize(number + 1);
            answers[number] = std::move(answer);
            ++answered;
            told.notify_all();
        });
    }
    // All of them, within a minute.
    void until_answered() {
        std::unique_lock lock(mutex);
        BOOST_REQUIRE(
            told.wait_for(lock, std::chrono::minutes{1}, [&] { return answered == count; }));
    }
    Grant granted(std::size_t number) {
        const std::lock_guard lock(mutex);
        return std::get<Grant>(answers.at(number)->value());
    }

    // The manager goes before what its thread uses.
    std::mutex mutex;
    std::condition_variable told;
    std::vector<std::optional<Result<Answer>>> answers;
    std::size_t count = 0;
    std::size_t answered = 0;
    std::unique_ptr<Storage> storage;
    std::unique_ptr<LockManager> manager;
    SessionId session;
};

void tells_all(Server& server) {
    server.acquire("a");
    server.acquire("b");
    server.acquire("a");
    server.manager->settle();
    server.until_answered();
    const Grant first = server.granted(0);
    BOOST_TEST((server.granted(1).id > first.id));
    BOOST_TEST((server.answers[2]->error().code == ErrorCode::already_held));

    server.gather(Release{server.session, first.id});
    server.acquire("a");
    server.manager->settle();
    server.until_answered();
    BOOST_TEST((server.granted(4).id > first.id));
    BOOST_TEST(server.manager->statistics().held == 2U);
}

// Ann, who is returned, holds `a`; what comes next is bob's.
SessionId hand_to_bob(Server& server) {
    server.acquire("a");
    server.manager->settle();
    server.until_answered();
    return std::exchange(server.session, server.open("bob"));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(gathered_requests)

BOOST_AUTO_TEST_CASE(are_told_by_settle_where_no_commit_waits) {
    Server server(make_memory_storage(system_clock()));
    BOOST_TEST(!server.storage->syncs());
    tells_all(server);
}

BOOST_AUTO_TEST_CASE(are_told_by_the_thread_where_commits_wait_for_a_device) {
    Server server(std::make_unique<FaultyStorage>(system_clock()));
    BOOST_TEST(server.storage->syncs());
    tells_all(server);
}

BOOST_AUTO_TEST_CASE(are_told_in_a_store_that_only_writes) {
    LockManagerOptions options;
    options.durability = Durability::written;
    // So that nearly every one reserves numbers, and is synced.
    options.table.reserve = 8;
    Server server(std::make_unique<FaultyStorage>(system_clock()), options);
    for (int i = 0; i < 200; ++i) {
        server.acquire(std::to_string(i));
        if (i % 3 == 0) server.manager->settle();
    }
    server.manager->settle();
    server.until_answered();
    BOOST_TEST(server.manager->statistics().held == 200U);
}

BOOST_AUTO_TEST_CASE(that_wait_are_told_by_the_settle_after_the_release) {
    Server server(make_memory_storage(system_clock()));
    const auto ann = hand_to_bob(server);
    server.acquire("a", no_limit);
    server.manager->settle();
    server.gather(Release{ann, server.granted(0).id});
    server.manager->settle();
    server.until_answered();
    BOOST_TEST((server.granted(1).id > server.granted(0).id));
}

BOOST_AUTO_TEST_CASE(that_wait_are_all_told_when_the_manager_closes) {
    Server server(make_memory_storage(system_clock()));
    hand_to_bob(server);
    for (int i = 0; i < 1000; ++i) server.acquire("a", no_limit);
    BOOST_TEST(server.manager->statistics().waiting == 1000U);
    BOOST_TEST((server.manager->close().has_value()));
    server.until_answered();
    BOOST_TEST((server.answers.back()->error().code == ErrorCode::closing));
}

BOOST_AUTO_TEST_CASE(leave_nothing_to_settle_when_there_are_none) {
    Server server(make_memory_storage(system_clock()));
    server.manager->settle();
    tells_all(server);
    server.manager->settle();
    BOOST_TEST((server.manager->close().has_value()));
    server.manager->settle();
    server.acquire("late");
    server.until_answered();
    BOOST_TEST((server.answers.back()->error().code == ErrorCode::closing));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock
