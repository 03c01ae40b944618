#include <rocklock/testing/simulated_clock.hpp>

#include <boost/test/unit_test.hpp>

namespace rocklock::testing {

using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(a_simulated_clock)

// E4: the clock of the test kit.
BOOST_AUTO_TEST_CASE(does_not_move_until_it_is_advanced) {
    SimulatedClock clock;
    const Instant before = clock.now();
    BOOST_TEST((clock.now().boot == before.boot));
    clock.advance(1500us);
    BOOST_TEST((clock.now().boot - before.boot == 1500us));
    BOOST_TEST((clock.now().wall - before.wall == 1ms));
    clock.advance(500us);
    BOOST_TEST((clock.now().wall - before.wall == 2ms));
}

BOOST_AUTO_TEST_CASE(has_independent_boot_and_wall_clocks) {
    SimulatedClock clock;
    const Instant before = clock.now();
    clock.jump_wall(-24h);
    BOOST_TEST((clock.now().boot == before.boot));
    BOOST_TEST((clock.now().wall == before.wall - 24h));
    clock.set_boot(before.boot + 5s);
    BOOST_TEST((clock.now().boot == before.boot + 5s));
    clock.set_wall(before.wall);
    BOOST_TEST((clock.now().wall == before.wall));
}

BOOST_AUTO_TEST_CASE(starts_again_after_a_reboot) {
    SimulatedClock clock;
    const std::string id = clock.boot_id();
    clock.reboot("another", BootTime(3s));
    BOOST_TEST(clock.boot_id() != id);
    BOOST_TEST((clock.now().boot == BootTime(3s)));
    clock.set_boot_id("");
    BOOST_TEST(clock.boot_id().empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
