// S3: stale holders cannot write, wherever in a write they are stopped.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <boost/test/unit_test.hpp>

#include "stale/stale_world.hpp"

namespace rocklock::proof {
namespace {

struct StaleSums {
    std::uint64_t worlds = 0;
    std::uint64_t stopped = 0;
    std::uint64_t overtaken = 0;
    std::uint64_t refused = 0;
};

StaleSums run_worlds(std::uint64_t first, std::uint64_t count) {
    StaleSums sums;
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
        const StaleRun run = run_stale_world(seed);
        BOOST_TEST_REQUIRE(run.wrong.empty(), "seed " << seed << ": " << run.wrong);
        ++sums.worlds;
        sums.stopped += run.stopped ? 1 : 0;
        sums.overtaken += run.overtaken ? 1 : 0;
        sums.refused += run.refused ? 1 : 0;
    }
    return sums;
}

boost::test_tools::assertion_result seeds_wanted(boost::unit_test::test_unit_id /*id*/) {
    if (std::getenv("ROCKLOCK_STALE_SEEDS") != nullptr) return true;
    boost::test_tools::assertion_result none(false);
    none.message() << "takes minutes: run scripts/stale";
    return none;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(a_holder_that_was_stopped)

BOOST_AUTO_TEST_CASE(writes_nothing_once_it_is_stale) {
    const StaleSums sums = run_worlds(1, 2000);
    // The result is meaningful only if enough worlds stop a holder and give its lock away.
    BOOST_TEST(sums.stopped > sums.worlds / 3);
    BOOST_TEST(sums.overtaken > sums.worlds / 10);
    BOOST_TEST(sums.refused > sums.worlds / 10);
}

BOOST_AUTO_TEST_CASE(writes_nothing_in_a_long_run, *boost::unit_test::precondition(seeds_wanted)) {
    const StaleSums sums =
        run_worlds(1, std::strtoull(std::getenv("ROCKLOCK_STALE_SEEDS"), nullptr, 10));
    std::printf(
        "%llu worlds: stopped in %llu, overtaken before the commit in %llu, refused in %llu\n",
        static_cast<unsigned long long>(sums.worlds), static_cast<unsigned long long>(sums.stopped),
        static_cast<unsigned long long>(sums.overtaken),
        static_cast<unsigned long long>(sums.refused));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::proof
