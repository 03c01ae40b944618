// An answer that needs no commit of its own depends on the commits of the state that it shows.
#include <chrono>

#include <boost/test/unit_test.hpp>

#include <rocklock/testing/faulty_storage.hpp>
#include <rocklock/testing/simulated_clock.hpp>

#include "lock/manager/lock_manager.hpp"

namespace rocklock {
namespace {

using testing::FaultyStorage;
using testing::SimulatedClock;

BOOST_AUTO_TEST_SUITE(an_answer_without_a_commit)

// The answer shows the new deadline. If the process dies, that deadline must not be lost, so the
// answer waits until the renewal is written.
BOOST_AUTO_TEST_CASE(waits_for_a_renewal_before_it_to_be_written) {
    SimulatedClock clock;
    FaultyStorage storage(clock);
    LockManagerOptions options;
    options.background = false;
    auto manager = LockManager::open(storage, clock, options).value();
    OpenSession open;
    open.principal = "ann";
    const SessionId ann = manager->ask(open).value().id;
    Acquire acquire;
    acquire.session = ann;
    acquire.locks = {{.resource = "a"}};
    BOOST_REQUIRE(manager->ask(acquire));
    acquire.held = Held::join;
    RenewSession renew;
    renew.session = ann;
    const auto renew_later = [&] {
        clock.advance(std::chrono::seconds{1});
        manager->submit(renew, [](const Result<Answer>&) {});
        BOOST_REQUIRE_EQUAL(storage.queued(), 1);
    };

    renew_later();
    BOOST_CHECK(manager->ask(acquire));
    BOOST_CHECK_EQUAL(storage.queued(), 0);
    renew_later();
    BOOST_CHECK(manager->grants(ann));
    BOOST_CHECK_EQUAL(storage.queued(), 0);
    renew_later();
    BOOST_CHECK(manager->sessions("ann"));
    BOOST_CHECK_EQUAL(storage.queued(), 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace rocklock
