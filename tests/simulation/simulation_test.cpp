// A part of the simulation; scripts/simulate runs more seeds.
#include <boost/test/unit_test.hpp>

#include "simulation/world.hpp"

BOOST_AUTO_TEST_SUITE(the_lock_manager)

BOOST_AUTO_TEST_CASE(keeps_its_promises_in_ten_thousand_worlds) {
    using namespace rocklock::simulation;
    const auto summary = play_all(1, 10'001, 100);
    BOOST_TEST_MESSAGE(summary.seeds << " seeds, " << summary.steps << " steps in "
                                     << summary.seconds << " s");
    if (summary.failed) {
        BOOST_ERROR(summary.failed->trace
                    << "seed " << summary.failed->seed << ": " << *summary.failed->wrong
                    << "\nreplay it: scripts/simulate --seed " << summary.failed->seed);
    }
    // A kind of event that never occurs is not tested.
    BOOST_TEST(summary.missing() == "");
}

BOOST_AUTO_TEST_CASE(plays_the_same_world_for_the_same_seed) {
    using namespace rocklock::simulation;
    Counts counts;
    for (std::uint64_t seed = 1; seed < 20; ++seed) {
        BOOST_TEST(play(seed, true, counts).trace == play(seed, true, counts).trace);
    }
}

BOOST_AUTO_TEST_SUITE_END()
