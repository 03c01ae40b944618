// The age of the oldest hold and the number of rows of the audit log.
#include <chrono>
#include <memory>
#include <string>
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

struct Watched {
    Watched() : storage(make_memory_storage(clock)) { reopen(); }

    void reopen() {
        LockManagerOptions options;
        options.background = false;
        manager.reset();
        manager = LockManager::open(*storage, clock, options).value();
    }
    Grant lock(const std::string& resource) const {
        Acquire request;
        request.opens.emplace().principal = "ann";
        request.opens->lease = std::chrono::hours{1};
        request.locks = {{.resource = resource}};
        return manager->ask(request).value();
    }
    void release(const Grant& grant) const {
        BOOST_REQUIRE(manager->ask(Release{grant.session, grant.id}));
    }
    void break_grant(const Grant& grant) const {
        BOOST_REQUIRE(manager->ask(Break{grant.id, "urgent", "root"}));
    }
    milliseconds oldest() const { return manager->statistics().oldest_hold; }

    SimulatedClock clock;
    std::unique_ptr<Storage> storage;
    std::unique_ptr<LockManager> manager;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(the_oldest_hold)

BOOST_AUTO_TEST_CASE(is_that_of_the_first_grant_that_is_still_held) {
    Watched watched;
    BOOST_TEST((watched.oldest() == milliseconds{0}));
    std::vector<Grant> grants;
    for (const char* const name : {"a", "b", "c", "d"}) {
        grants.push_back(watched.lock(name));
        watched.clock.advance(seconds{10});
    }
    BOOST_TEST((watched.oldest() == seconds{40}));
    // From the middle, then the oldest, then the youngest.
    watched.release(grants[1]);
    BOOST_TEST((watched.oldest() == seconds{40}));
    watched.release(grants[0]);
    BOOST_TEST((watched.oldest() == seconds{20}));
    watched.release(grants[3]);
    BOOST_TEST((watched.oldest() == seconds{20}));
    watched.release(grants[2]);
    BOOST_TEST((watched.oldest() == seconds{0}));
    const Grant again = watched.lock("e");
    watched.clock.advance(seconds{3});
    BOOST_TEST((watched.oldest() == seconds{3}));
}

BOOST_AUTO_TEST_CASE(keeps_its_age_when_the_store_is_opened_again) {
    Watched watched;
    const Grant first = watched.lock("a");
    watched.clock.advance(seconds{10});
    const Grant second = watched.lock("b");
    watched.clock.advance(seconds{5});
    watched.reopen();
    BOOST_TEST((watched.oldest() == seconds{15}));
    watched.release(first);
    BOOST_TEST((watched.oldest() == seconds{5}));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(the_rows_of_the_audit_log)

BOOST_AUTO_TEST_CASE(are_counted_also_after_a_restart) {
    Watched watched;
    watched.release(watched.lock("a"));
    BOOST_TEST(watched.manager->statistics().audit_rows == 0U);
    watched.break_grant(watched.lock("b"));
    watched.break_grant(watched.lock("c"));
    BOOST_TEST(watched.manager->statistics().audit_rows == 2U);
    watched.reopen();
    BOOST_TEST(watched.manager->statistics().audit_rows == 2U);
    watched.break_grant(watched.lock("d"));
    BOOST_TEST(watched.manager->statistics().audit_rows == 3U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock
