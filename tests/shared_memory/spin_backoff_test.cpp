// When a thread spins before it sleeps.
#include "shared_memory/spin_backoff.hpp"

#include <algorithm>
#include <chrono>

#include <boost/test/unit_test.hpp>

namespace rocklock {

namespace {

using namespace std::chrono_literals;

struct Spinner {
    SpinBackoff backoff;
    SpinBackoff::Time now{1h};

    void yield(std::chrono::nanoseconds duration) {
        const auto before = now;
        now += duration;
        backoff.yielded(before, now);
    }
    // Returns the time from now on during which the thread does not spin.
    std::chrono::milliseconds pause() const {
        std::chrono::milliseconds pause{0};
        while (!backoff.may_spin(now + pause)) ++pause;
        return pause;
    }
    void spin_for(std::chrono::milliseconds duration) {
        for (auto left = duration; left > 0ms; left -= 1ms) yield(1ms);
    }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(spin_backoff)

BOOST_AUTO_TEST_CASE(permits_spinning_while_yields_are_short) {
    Spinner spinner;
    BOOST_TEST((spinner.pause() == 0ms));
    spinner.spin_for(100ms);
    BOOST_TEST((spinner.pause() == 0ms));
}

BOOST_AUTO_TEST_CASE(pauses_for_longer_while_yields_remain_long) {
    Spinner spinner;
    std::chrono::milliseconds expected = SpinBackoff::min_pause;
    for (int i = 0; i < 12; ++i) {
        spinner.yield(3ms);
        BOOST_TEST((spinner.pause() == expected));
        spinner.now += expected;
        expected = std::min(2 * expected, SpinBackoff::max_pause);
    }
    BOOST_TEST((expected == SpinBackoff::max_pause));
}

BOOST_AUTO_TEST_CASE(begins_again_with_a_short_pause_after_spinning_has_worked) {
    Spinner spinner;
    for (int i = 0; i < 3; ++i) {
        spinner.yield(3ms);
        spinner.now += spinner.pause();
    }
    // Shorter than the next pause.
    spinner.spin_for(4 * SpinBackoff::min_pause);
    spinner.yield(3ms);
    BOOST_TEST((spinner.pause() == 8 * SpinBackoff::min_pause));
    spinner.now += spinner.pause();
    spinner.spin_for(16 * SpinBackoff::min_pause + 1ms);
    spinner.yield(3ms);
    BOOST_TEST((spinner.pause() == SpinBackoff::min_pause));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock
