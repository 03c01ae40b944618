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
#include "storage/read_ahead.hpp"

namespace rocklock {
namespace {

constexpr std::size_t sessions = 5;
// Enough for a second thread that reads records ahead.
constexpr std::size_t grants = ReadAhead::max_records + 1'000;

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
        for (std::size_t i = 0; i < grants; ++i) {
            Acquire acquire;
            acquire.session = owners[i % sessions];
            acquire.locks = {{.resource = name_of(i)}};
            if (i % 51 == 1) acquire.locks.push_back({.resource = "more/" + std::to_string(i)});
            held.push_back(manager->ask(acquire).value());
        }
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
            BOOST_REQUIRE(manager->ask(Release{held[i].session, held[i].id}));
        }
    }
    BOOST_TEST(!manager->audit_invariants());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock
