#include "storage/frequent_yield.hpp"

#include <chrono>

#include <boost/test/unit_test.hpp>

namespace rocklock::testing {

BOOST_AUTO_TEST_SUITE(a_frequent_yield)

namespace {

using std::chrono::milliseconds;

struct TestClock {
    using duration = milliseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<TestClock>;
    static constexpr bool is_steady = true;

    static time_point now() { return time; }
    static inline time_point time{milliseconds{1'000}};
};

struct Fixture {
    milliseconds duration{0};
    int yields = 0;
    BasicFrequentYield<TestClock> tested{[this] {
        TestClock::time += duration;
        ++yields;
    }};

    void step(int times) {
        for (int i = 0; i < times; ++i) tested.step();
    }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(happens_at_every_64th_step, Fixture) {
    step(63);
    BOOST_TEST(yields == 0);
    step(1);
    BOOST_TEST(yields == 1);
    step(640);
    BOOST_TEST(yields == 11);
}

BOOST_FIXTURE_TEST_CASE(takes_at_most_half_of_the_time, Fixture) {
    duration = milliseconds{5};
    step(64);
    BOOST_TEST(yields == 1);
    TestClock::time += milliseconds{4};
    step(6'400);
    BOOST_TEST(yields == 1);
    TestClock::time += milliseconds{1};
    step(64);
    BOOST_TEST(yields == 2);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
