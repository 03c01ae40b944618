// The delay of a sync in the group commit.
#include <chrono>
#include <functional>
#include <semaphore>
#include <string>
#include <thread>

#include <boost/test/unit_test.hpp>

#include <rocklock/testing/simulated_clock.hpp>

#include "storage/scripted_engine.hpp"

namespace rocklock::testing {
namespace {

using enum Durability;

// Calls a function whenever the time is read.
class WatchedClock final : public Clock {
public:
    Instant now() override {
        if (on_now) on_now();
        return clock.now();
    }
    std::string boot_id() override { return clock.boot_id(); }

    SimulatedClock clock;
    std::function<void()> on_now;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(a_leader_that_syncs)

// The second thread leads when the sync of the first one has ended. The first thread sends its next
// commit only when the second one reads the clock, to determine the delay. On a busy machine, the
// delay can end too early, or the second thread can be late. Therefore, several attempts are made.
BOOST_AUTO_TEST_CASE(waits_for_a_thread_that_the_last_sync_has_served) {
    std::string calls;
    for (int attempt = 0; attempt < 100 && calls != "w1s w2s"; ++attempt) {
        ScriptedEngine slow;
        WatchedClock watched;
        GroupCommit commits{slow, watched, false};
        const auto commit = [&] {
            must(commits.wait(commits.enqueue(some_batch(), durable, nullptr), durable));
        };
        slow.on_write = [&](int) { watched.clock.advance(std::chrono::seconds{8}); };
        slow.gate_next = true;
        std::counting_semaphore<2> delayed{0};
        std::jthread first([&] {
            commit();
            delayed.acquire();
            commit();
        });
        slow.entered.acquire();
        watched.on_now = [&, self = first.get_id(), released = false]() mutable {
            if (released || std::this_thread::get_id() == self) return;
            released = true;
            delayed.release();
        };
        std::jthread second(commit);
        // Usually, the second thread waits after this time.
        std::this_thread::sleep_for(std::chrono::milliseconds{1 + attempt});
        slow.leave.release();
        second.join();
        delayed.release();
        first.join();
        calls = slow.done();
    }
    BOOST_TEST(calls == "w1s w2s");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
