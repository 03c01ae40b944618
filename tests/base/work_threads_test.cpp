#include "base/work_threads.hpp"

#include <atomic>
#include <barrier>
#include <cstddef>
#include <latch>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace {

using rocklock::WorkThreads;

}  // namespace

BOOST_AUTO_TEST_SUITE(threads_for_work)

BOOST_AUTO_TEST_CASE(run_as_many_tasks_at_once_as_there_are_threads) {
    constexpr std::ptrdiff_t count = 4;
    // Each function waits until `count` functions run at the same time.
    std::barrier all(count);
    std::atomic<int> done{0};
    {
        WorkThreads threads(count);
        for (int i = 0; i < 3 * count; ++i) {
            threads.run([&] {
                all.arrive_and_wait();
                ++done;
            });
        }
    }
    BOOST_TEST(done == 3 * count);
}

BOOST_AUTO_TEST_CASE(run_tasks_in_the_order_of_submission) {
    std::vector<int> order;
    std::latch pending(1);
    {
        WorkThreads threads(1);
        threads.run([&] { pending.wait(); });
        for (int i = 0; i < 100; ++i) threads.run([&order, i] { order.push_back(i); });
        pending.count_down();
    }
    BOOST_TEST_REQUIRE(order.size() == 100U);
    for (int i = 0; i < 100; ++i) BOOST_TEST(order[static_cast<std::size_t>(i)] == i);
}

BOOST_AUTO_TEST_CASE(are_not_started_without_work) {
    const WorkThreads threads(1'000'000);
    BOOST_TEST(true);
}

BOOST_AUTO_TEST_SUITE_END()
