// How long a commit is delayed. Each case plays commits of clients that send their next request
// after the response.
#include "storage/commit_delay.hpp"

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace rocklock {
namespace {

using namespace std::chrono_literals;

struct DelayFixture {
    CommitDelay delay{0.5, 3};
    BootTime now{1h};
    std::uint64_t requests = 0;

    // Commits all requests, in `duration`. `added` requests are added meanwhile.
    void commit(std::chrono::milliseconds duration, std::uint64_t added) {
        const auto completed = requests;
        delay.begin(now);
        now += duration;
        requests += added;
        delay.end(requests, completed, now);
    }
    // Makes the average duration of a commit about 8 ms.
    void commit_often(std::uint64_t each) {
        for (int i = 0; i < 100; ++i) {
            requests += each;
            commit(8ms, 0);
        }
    }
    std::chrono::nanoseconds left() const { return delay.delay_until(requests, now) - now; }
    // Delays the next commit until `added` requests were added or the time has passed. Returns
    // whether the commit was delayed.
    bool wait_for(std::uint64_t added) {
        if (left() <= 0ns) {
            requests += added;
            return false;
        }
        delay.start_delay();
        requests += added;
        delay.stop_delay(requests);
        return true;
    }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(the_delay_of_a_commit, DelayFixture)

BOOST_AUTO_TEST_CASE(is_absent_before_the_first_commit) { BOOST_TEST((left() == 0ns)); }

BOOST_AUTO_TEST_CASE(is_at_most_the_given_share_of_the_duration_of_a_commit) {
    const auto share_of_2_ms = [&](double share) {
        CommitDelay other(share, 3);
        for (int i = 0; i < 100; ++i) {
            other.begin(now);
            other.end(10, 10, now + 2ms);
        }
        other.begin(now);
        other.end(10, 20, now + 2ms);
        return other.delay_until(10, now) - (now + 2ms);
    };
    BOOST_TEST((share_of_2_ms(1.5) > 2900us && share_of_2_ms(1.5) <= 3000us));
    BOOST_TEST((share_of_2_ms(0.5) > 900us && share_of_2_ms(0.5) <= 1000us));
    commit_often(10);
    BOOST_TEST((left() > 3900us));
    BOOST_TEST((left() <= 4ms));
    now += 3ms;
    BOOST_TEST((left() <= 1ms));
    now += 1ms;
    BOOST_TEST((left() <= 0ns));
}

BOOST_AUTO_TEST_CASE(has_a_limit) {
    for (int i = 0; i < 100; ++i) {
        requests += 10;
        commit(1s, 0);
    }
    BOOST_TEST((left() == 5ms));
}

BOOST_AUTO_TEST_CASE(is_absent_after_a_commit_with_few_requests) {
    commit_often(2);
    BOOST_TEST((left() == 0ns));
}

BOOST_AUTO_TEST_CASE(ends_when_the_clients_have_sent_their_next_requests) {
    commit_often(10);
    delay.start_delay();
    BOOST_TEST(!delay.ends_with(requests + 9));
    BOOST_TEST(delay.ends_with(requests + 10));
    delay.stop_delay(requests + 10);
    BOOST_TEST(!delay.ends_with(requests + 10));
}

// Ten clients were answered, and ten others have sent requests during the commit. After the delay,
// all twenty share one commit.
BOOST_AUTO_TEST_CASE(joins_two_groups_of_clients) {
    commit_often(10);
    requests += 10;
    commit(8ms, 10);
    delay.start_delay();
    BOOST_TEST(!delay.ends_with(requests + 9));
    BOOST_TEST(delay.ends_with(requests + 10));
    requests += 10;
    delay.stop_delay(requests);
    commit(8ms, 0);
    delay.start_delay();
    BOOST_TEST(!delay.ends_with(requests + 19));
    BOOST_TEST(delay.ends_with(requests + 20));
}

// Clients that do not send their next requests at once must not delay others again and again.
BOOST_AUTO_TEST_CASE(becomes_rare_if_it_is_useless) {
    commit_often(10);
    std::vector<int> pauses;
    int pause = 0;
    while (pauses.size() < 9) {
        // Half of the clients pause.
        if (wait_for(5)) {
            pauses.push_back(std::exchange(pause, 0));
        } else {
            ++pause;
        }
        requests += 5;
        commit(8ms, 0);
    }
    const std::vector<int> expected = {0, 1, 3, 7, 15, 31, 63, 64, 64};
    BOOST_TEST(pauses == expected, boost::test_tools::per_element());

    // When it becomes useful again, each commit is delayed.
    while (!wait_for(10)) commit(8ms, 0);
    for (int i = 0; i < 100; ++i) {
        commit(8ms, 0);
        BOOST_TEST(wait_for(10));
    }
}

// The size of a commit is limited. The others wait for the next commit, and do not count as
// answered.
BOOST_AUTO_TEST_CASE(waits_for_the_clients_that_were_answered) {
    commit_often(10);
    requests += 10;
    delay.begin(now);
    now += 8ms;
    delay.end(requests, requests - 4, now);
    delay.start_delay();
    BOOST_TEST(!delay.ends_with(requests + 5));
    BOOST_TEST(delay.ends_with(requests + 6));
}

BOOST_AUTO_TEST_CASE(is_useful_if_a_few_clients_are_late) {
    commit_often(16);
    for (int i = 0; i < 100; ++i) {
        BOOST_TEST(wait_for(14));
        requests += 2;
        commit(8ms, 0);
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock
