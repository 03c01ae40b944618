// A part of the simulation; scripts/simulate runs more seeds.
#include <cstdint>
#include <string>

#include <boost/test/unit_test.hpp>

#include "simulation/world.hpp"
#include "support/repetitions.hpp"

BOOST_AUTO_TEST_SUITE(the_lock_manager)

using namespace rocklock::simulation;

using rocklock::testing::with_address_sanitizer;

// A build with the address sanitizer plays the first worlds only. Rare events need not occur in
// them, since they occur in the others.
constexpr std::uint64_t part = with_address_sanitizer ? 16 : 1;

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
    if (!with_address_sanitizer) BOOST_TEST(summary.missing() == "");
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
