// A part of the simulation; scripts/simulate runs more seeds.
#include <cstdint>
#include <string>

#include <boost/test/unit_test.hpp>

#include "simulation/world.hpp"

BOOST_AUTO_TEST_SUITE(the_lock_manager)

using namespace rocklock::simulation;

// A build with a sanitizer is several times slower, and plays the first eighth of the worlds. Rare
// events need not occur in them, since they occur in the others.
#ifdef __SANITIZE_ADDRESS__
constexpr std::uint64_t part = 8;
#else
constexpr std::uint64_t part = 1;
#endif

void check_worlds(WorldKind kind, std::uint64_t count, const std::string& options) {
    const auto summary = play_all(kind, 1, count / part + 1, 100);
    BOOST_TEST_MESSAGE(summary.seeds << " seeds, " << summary.steps << " steps in "
                                     << summary.seconds << " s");
    if (summary.failed) {
        BOOST_ERROR(summary.failed->trace
                    << "seed " << summary.failed->seed << ": " << *summary.failed->wrong
                    << "\nreplay it: scripts/simulate " << options << "--seed "
                    << summary.failed->seed);
    }
    // A kind of event that never occurs is not tested.
    if (part == 1) BOOST_TEST(summary.missing() == "");
}

BOOST_AUTO_TEST_CASE(keeps_its_promises_in_ten_thousand_worlds) {
    check_worlds(WorldKind::one_manager, 10'000, "");
}

BOOST_AUTO_TEST_CASE(keeps_its_promises_in_three_thousand_clusters) {
    check_worlds(WorldKind::cluster, 3'000, "--cluster ");
}

BOOST_AUTO_TEST_CASE(plays_the_same_world_for_the_same_seed) {
    Counts counts;
    for (std::uint64_t seed = 1; seed < 20; ++seed) {
        for (const auto kind : {WorldKind::one_manager, WorldKind::cluster}) {
            const auto first = play(kind, seed, true, counts).trace;
            BOOST_TEST(play(kind, seed, true, counts).trace == first);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
