// A forked child has a copy of the manager, but must not use it. If it could renew a lease, no
// process would be able to end that lease.
#include <unistd.h>

#include <memory>

#include <boost/test/unit_test.hpp>

#include <rocklock/lock.hpp>
#include <rocklock/testing/faulty_storage.hpp>
#include <rocklock/testing/simulated_clock.hpp>

#include "lock/manager/lock_manager.hpp"
#include "support/in_child.hpp"

namespace rocklock {
namespace {

using testing::in_child;

template <typename T>
bool refused(const Result<T>& result) {
    return !result && result.error().code == ErrorCode::store_in_use;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(a_child_of_the_process)

// S12: the child decides nothing.
BOOST_AUTO_TEST_CASE(renews_no_session_and_holds_no_lock) {
    testing::SimulatedClock clock;
    testing::FaultyStorage storage(clock);
    LockManagerOptions options;
    options.background = false;
    const auto manager = LockManager::open(storage, clock, options).value();
    OpenSession open;
    open.principal = "ann";
    const SessionId ann = manager->ask(open).value().id;
    Acquire acquire;
    acquire.session = ann;
    acquire.locks.emplace_back().resource = "a";
    const Grant grant = manager->ask(acquire).value();
    const int status = in_child([&] {
        if (!refused(manager->ask(RenewSession{ann, {}, {}, {}, {}}))) return 1;
        if (!refused(manager->ask(Release{ann, grant.id}))) return 2;
        if (manager->holds(ann, "a", Mode::write)) return 3;
        if (manager->tick()) return 4;
        return 0;
    });
    BOOST_TEST(status == 0);
    BOOST_TEST(manager->holds(ann, "a", Mode::write));
    BOOST_TEST(manager->ask(RenewSession{ann, {}, {}, {}, {}}).has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock
