// A store with so many grants that several threads open it.
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/storage/storage.hpp>
#include <rocklock/testing/simulated_clock.hpp>

#include "lock/manager/lock_manager.hpp"
#include "lock/model/request_loader.hpp"
#include "lock/records/records.hpp"
#include "storage/read_ahead.hpp"

namespace rocklock {
namespace {

constexpr std::size_t sessions = 5;
// Enough for the threads that read records and add request ids.
constexpr std::size_t grants = lock_model::RequestLoader::min_for_thread * 5 / 4;
static_assert(grants > 2 * ReadAhead<records::GrantRecord>::max_records);

struct Store {
    testing::SimulatedClock clock;
    std::unique_ptr<Storage> storage = make_memory_storage(clock);
    std::unique_ptr<LockManager> manager = open();
    std::vector<Grant> held;

    std::unique_ptr<LockManager> open() {
        LockManagerOptions options;
        options.background = false;
        return LockManager::open(*storage, clock, options).value();
    }

    static std::string name_of(std::size_t number) {
        return "orders/" + std::to_string(number / 100) + "/" + std::to_string(number);
    }

    // One in 51 grants has two resources.
    void fill() {
        std::vector<SessionId> owners;
        for (std::size_t i = 0; i < sessions; ++i) {
            OpenSession open;
            open.principal = "ann";
            open.lease = std::chrono::hours{1};
            owners.push_back(manager->ask(open).value().id);
        }
        for (std::size_t i = 0; i < grants; ++i)
            held.push_back(manager->ask(acquire(i, owners[i % sessions])).value());
    }

    static Acquire acquire(std::size_t number, const SessionId& session) {
        Acquire acquire;
        acquire.session = session;
        acquire.locks = {{.resource = name_of(number)}};
        if (number % 51 == 1)
            acquire.locks.push_back({.resource = "more/" + std::to_string(number)});
        if (number % 7 != 0) acquire.request_id = "request " + std::to_string(number);
        return acquire;
    }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(a_large_store, Store)

BOOST_AUTO_TEST_CASE(is_opened_with_each_grant_under_its_names_and_its_number) {
    fill();
    // The history is read by several threads, too.
    for (std::size_t i = 0; i < grants; i += 10) {
        BOOST_REQUIRE(manager->ask(Release{held[i].session, held[i].id}));
    }
    manager.reset();
    manager = open();
    BOOST_TEST(!manager->audit_invariants());
    for (std::size_t i = 0; i < grants; ++i) {
        const auto holders = manager->show(name_of(i)).value().holders;
        if (i % 10 == 0) {
            BOOST_TEST(holders.empty());
        } else {
            BOOST_REQUIRE(holders.size() == 1U);
            BOOST_TEST((holders.front().grant == held[i].id));
            // A repeated request gets the grant of the first one.
            const SessionId& session = held[i].session;
            if (i % 7 != 0)
                BOOST_TEST((manager->ask(acquire(i, session)).value().id == held[i].id));
            BOOST_REQUIRE(manager->ask(Release{held[i].session, held[i].id}));
        }
    }
    BOOST_TEST(!manager->audit_invariants());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock
