// Which thread leads, what each one waits for, and the effect of a failure. The engine can be
// stopped at a given write.
#include "storage/group_commit.hpp"

#include <atomic>
#include <functional>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/testing/simulated_clock.hpp>

#include "base/assert.hpp"
#include "storage/scripted_engine.hpp"

namespace rocklock::testing {
namespace {

struct GroupFixture {
    ScriptedEngine engine;
    SimulatedClock clock;
    GroupCommit group{engine, clock, false};

    CommitNumber enqueue(Durability durability) {
        return group.enqueue(some_batch(), durability, nullptr);
    }
    Result<void> wait(CommitNumber number, Durability durability) {
        return group.wait(number, durability);
    }
};

using enum Durability;

}  // namespace

BOOST_FIXTURE_TEST_SUITE(a_leader, GroupFixture)

BOOST_AUTO_TEST_CASE(writes_all_queued_batches_as_one) {
    enqueue(written);
    enqueue(deferred);
    const auto last = enqueue(written);
    BOOST_TEST(wait(last, written).has_value());
    BOOST_TEST(engine.done() == "w3");
}

BOOST_AUTO_TEST_CASE(syncs_once_if_a_caller_requests_it) {
    enqueue(durable);
    enqueue(durable);
    const auto last = enqueue(written);
    BOOST_TEST(wait(last, written).has_value());
    BOOST_TEST(engine.done() == "w3s");
    BOOST_TEST(group.synced_through() == last);
}

BOOST_AUTO_TEST_CASE(does_not_sync_unless_a_commit_needs_it) {
    BOOST_TEST(wait(enqueue(durable), durable).has_value());
    BOOST_TEST(wait(enqueue(written), written).has_value());
    BOOST_TEST(wait(enqueue(deferred), deferred).has_value());
    BOOST_TEST(engine.done() == "w1s w1 w1");
}

BOOST_AUTO_TEST_CASE(only_syncs_batches_that_are_already_written) {
    const auto number = enqueue(written);
    BOOST_TEST(wait(number, written).has_value());
    BOOST_TEST(wait(number, durable).has_value());
    BOOST_TEST(wait(number, durable).has_value());
    BOOST_TEST(engine.done() == "w1 s");
}

BOOST_AUTO_TEST_CASE(writes_batches_that_were_deferred_during_its_write) {
    engine.gate_next = true;
    std::jthread leader([&] { must(wait(enqueue(durable), durable)); });
    engine.entered.acquire();
    const auto number = enqueue(deferred);
    // Returns at once, although the leader is in the middle of its sync.
    BOOST_TEST(wait(number, deferred).has_value());
    BOOST_TEST(!group.done(number, written));
    engine.leave.release();
    leader.join();
    BOOST_TEST(group.done(number, written));
    BOOST_TEST(engine.done() == "w1s w1");
}

BOOST_AUTO_TEST_CASE(leaves_deferred_batches_if_the_engine_requests_it) {
    engine.leaves = true;
    engine.gate_next = true;
    std::jthread leader([&] { must(wait(enqueue(durable), durable)); });
    engine.entered.acquire();
    const auto number = enqueue(deferred);
    BOOST_TEST(wait(number, deferred).has_value());
    engine.leave.release();
    leader.join();
    BOOST_TEST(!group.done(number, written));
    BOOST_TEST(engine.done() == "w1s");
    BOOST_TEST(engine.times_left == 1);

    group.write_deferred();
    BOOST_TEST(group.done(number, written));
    BOOST_TEST(engine.done() == "w1s w1");
    BOOST_TEST(engine.times_left == 1);
    // The queue is empty.
    group.write_deferred();
    BOOST_TEST(engine.done() == "w1s w1");
}

BOOST_AUTO_TEST_CASE(takes_batches_along_that_another_leader_has_left) {
    engine.leaves = true;
    engine.gate_next = true;
    std::jthread leader([&] { must(wait(enqueue(durable), durable)); });
    engine.entered.acquire();
    BOOST_TEST(wait(enqueue(deferred), deferred).has_value());
    engine.leave.release();
    leader.join();
    BOOST_TEST(wait(enqueue(durable), durable).has_value());
    BOOST_TEST(engine.done() == "w1s w2s");
    group.write_deferred();
    BOOST_TEST(engine.done() == "w1s w2s");
}

BOOST_AUTO_TEST_CASE(hands_over_to_a_remaining_waiter) {
    engine.gate_next = true;
    std::jthread leader([&] { must(wait(enqueue(durable), durable)); });
    engine.entered.acquire();
    // All three are queued before the leader finishes.
    std::vector<CommitNumber> numbers;
    numbers.reserve(3);
    for (int i = 0; i < 3; ++i) numbers.push_back(enqueue(durable));
    std::vector<std::jthread> others;
    others.reserve(3);
    for (const auto number : numbers) {
        others.emplace_back([&, number] { must(wait(number, durable)); });
    }
    engine.leave.release();
    leader.join();
    others.clear();
    BOOST_TEST(engine.done() == "w1s w3s");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(an_engine_with_limits, GroupFixture)

BOOST_AUTO_TEST_CASE(gets_no_more_writes_at_once_than_it_accepts) {
    engine.limits.writes = 2;
    for (int i = 0; i < 4; ++i) enqueue(written);
    const auto last = enqueue(durable);
    BOOST_TEST(wait(last, durable).has_value());
    BOOST_TEST(engine.done() == "w2s w2s w1s");
    BOOST_TEST(group.synced_through() == last);
}

BOOST_AUTO_TEST_CASE(gets_no_more_bytes_at_once_than_it_accepts) {
    // Each batch has a key of 3 bytes and a value of 8.
    engine.limits.bytes = 23;
    for (int i = 0; i < 2; ++i) enqueue(written);
    const auto last = enqueue(written);
    BOOST_TEST(wait(last, written).has_value());
    BOOST_TEST(engine.done() == "w2 w1");
}

BOOST_AUTO_TEST_CASE(gets_a_batch_alone_that_exceeds_its_limits) {
    engine.limits.writes = 2;
    enqueue(written);
    Batch large;
    for (int i = 0; i < 3; ++i) large.writes.push_back({Family::locks, "key", "12345678"});
    group.enqueue(std::move(large), written, nullptr);
    const auto last = enqueue(written);
    BOOST_TEST(wait(last, written).has_value());
    BOOST_TEST(engine.done() == "w1 w1 w1");
}

BOOST_AUTO_TEST_CASE(reports_what_one_write_would_contain) {
    engine.limits.writes = 2;
    const auto first = enqueue(written);
    BOOST_TEST(group.one_write_through() == first);
    enqueue(deferred);
    const auto third = enqueue(written);
    BOOST_TEST(group.one_write_through() == first + 1);
    BOOST_TEST(wait(first, written).has_value());
    BOOST_TEST(group.one_write_through() == third);
    BOOST_TEST(wait(third, written).has_value());
    BOOST_TEST(group.one_write_through() == third);
    BOOST_TEST(engine.done() == "w2 w1");
}

BOOST_AUTO_TEST_CASE(fails_a_leader_whose_commit_was_left_for_a_later_write) {
    engine.limits.writes = 1;
    enqueue(written);
    const auto last = enqueue(written);
    engine.on_write = [&](int number) { engine.fail_writes = number == 2; };
    BOOST_TEST((wait(last, written).error().code == ErrorCode::no_space));
    BOOST_TEST(engine.done() == "w1 w1");
    BOOST_TEST(engine.failures == 1);
}

BOOST_AUTO_TEST_CASE(fails_a_leader_if_a_reader_finds_damage_between_two_writes) {
    engine.limits.writes = 1;
    enqueue(written);
    const auto last = enqueue(written);
    engine.on_write = [&](int) { group.fail(Error(ErrorCode::corrupt, "planned")); };
    BOOST_TEST((wait(last, written).error().code == ErrorCode::corrupt));
    BOOST_TEST(engine.done() == "w1");
}

BOOST_AUTO_TEST_CASE(writes_every_commit_of_many_threads) {
    engine.limits.writes = 3;
    std::vector<std::jthread> threads;
    threads.reserve(8);
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([&, i] {
            for (int j = 0; j < 200; ++j) {
                const auto durability = (i + j) % 3 == 0 ? deferred : written;
                const auto number = enqueue(durability);
                must(wait(number, durability));
                ROCKLOCK_ASSERT(durability == deferred || group.done(number, written));
            }
        });
    }
    threads.clear();
    const auto last = enqueue(written);
    BOOST_TEST(wait(last, written).has_value());
    BOOST_TEST(group.written_through() == last);
    BOOST_TEST(group.queued() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(a_confirmation, GroupFixture)

BOOST_AUTO_TEST_CASE(is_requested_by_a_durable_commit_without_writes) {
    GroupCommit confirming(engine, clock, true);
    const auto number = confirming.enqueue({}, durable, nullptr);
    BOOST_TEST(confirming.wait(number, durable).has_value());
    BOOST_TEST(engine.done() == "s");
}

BOOST_AUTO_TEST_CASE(is_one_for_all_that_wait_for_it) {
    GroupCommit confirming(engine, clock, true);
    for (int i = 0; i < 3; ++i) confirming.enqueue({}, durable, nullptr);
    const auto last = confirming.enqueue({}, durable, nullptr);
    BOOST_TEST(confirming.wait(last, durable).has_value());
    BOOST_TEST(engine.done() == "s");
}

BOOST_AUTO_TEST_CASE(is_part_of_a_write) {
    GroupCommit confirming(engine, clock, true);
    confirming.enqueue({}, durable, nullptr);
    const auto last = confirming.enqueue(some_batch(), written, nullptr);
    BOOST_TEST(confirming.wait(last, written).has_value());
    BOOST_TEST(engine.done() == "w1s");
}

BOOST_AUTO_TEST_CASE(is_made_by_a_caller_that_requires_no_sync_itself) {
    GroupCommit confirming(engine, clock, true);
    const auto number = confirming.enqueue({}, durable, nullptr);
    const auto last = confirming.enqueue({}, written, nullptr);
    BOOST_TEST(confirming.wait(last, written).has_value());
    BOOST_TEST(confirming.done(number, durable));
    BOOST_TEST(engine.done() == "s");
}

BOOST_AUTO_TEST_CASE(is_made_in_a_round_that_a_leader_leads_for_others) {
    GroupCommit confirming(engine, clock, true);
    CommitNumber number = 0;
    engine.on_write = [&](int write) {
        if (write > 1) return;
        number = confirming.enqueue({}, durable, nullptr);
        confirming.enqueue(Batch{}, deferred, nullptr);
    };
    const auto first = confirming.enqueue(some_batch(), written, nullptr);
    BOOST_TEST(confirming.wait(first, written).has_value());
    BOOST_TEST(confirming.done(number, durable));
    BOOST_TEST(engine.done() == "w1 s");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(a_deferred_caller, GroupFixture)

BOOST_AUTO_TEST_CASE(never_syncs_for_others) {
    const auto durable_one = enqueue(durable);
    const auto mine = enqueue(deferred);
    BOOST_TEST(wait(mine, deferred).has_value());
    // The owner of the durable commit will wait for it, and will write both.
    BOOST_TEST(engine.done() == "");
    BOOST_TEST(wait(durable_one, durable).has_value());
    BOOST_TEST(engine.done() == "w2s");
    BOOST_TEST(group.done(mine, written));
}

BOOST_AUTO_TEST_CASE(leaves_a_sync_to_waiters_that_arrived_during_the_write) {
    engine.gate_next = true;
    std::atomic<bool> back{false};
    std::jthread caller([&] {
        must(wait(enqueue(deferred), deferred));
        back = true;
    });
    engine.entered.acquire();
    const auto number = enqueue(durable);
    std::jthread other([&] { must(wait(number, durable)); });
    engine.leave.release();
    caller.join();
    other.join();
    BOOST_TEST(back);
    BOOST_TEST(group.done(number, durable));
    // Whichever thread is first, the deferred caller does not sync in its own write.
    BOOST_TEST(engine.done().starts_with("w1 "));
}

// Other threads continue to enqueue deferred commits. The leader does not serve them without a
// limit.
BOOST_AUTO_TEST_CASE(is_replaced_by_another_leader_after_some_rounds) {
    engine.on_write = [&](int number) {
        if (number <= 9) enqueue(deferred);
        if (number == 9) {
            engine.entered.release();
            engine.leave.acquire();
        }
    };
    std::jthread leader([&] { must(wait(enqueue(deferred), deferred)); });
    engine.entered.acquire();
    std::jthread relief([&] {
        const auto number = enqueue(deferred);
        engine.entered.release();
        must(wait(number, deferred));
    });
    engine.entered.acquire();
    // Whether the relieving thread is already parked or not, one of the two threads writes
    // everything.
    engine.leave.release();
    leader.join();
    relief.join();
    BOOST_TEST(group.queued() == 0U);
    BOOST_TEST(engine.done() == "w1 w1 w1 w1 w1 w1 w1 w1 w1 w2");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(a_sync_in_parallel_with_the_leader, GroupFixture)

BOOST_AUTO_TEST_CASE(makes_written_batches_durable_during_other_writes) {
    engine.concurrent = true;
    const auto first = enqueue(written);
    BOOST_TEST(wait(first, written).has_value());
    engine.gate_next = true;
    const auto second = enqueue(written);
    std::jthread leader([&] { must(wait(second, written)); });
    engine.entered.acquire();
    BOOST_TEST(group.sync_through(first).has_value());
    BOOST_TEST(group.done(first, durable));
    BOOST_TEST(!group.done(second, written));
    engine.leave.release();
    leader.join();
    BOOST_TEST(group.done(second, written));
    BOOST_TEST(!group.done(second, durable));
    // Each call is recorded when it begins.
    BOOST_TEST(engine.done() == "w1 w1 s");
}

BOOST_AUTO_TEST_CASE(writes_queued_batches_first) {
    engine.concurrent = true;
    const auto number = enqueue(deferred);
    BOOST_TEST(group.sync_through(number).has_value());
    BOOST_TEST(group.done(number, durable));
    BOOST_TEST(group.sync_through(number).has_value());
    BOOST_TEST(engine.done() == "w1 s");
}

BOOST_AUTO_TEST_CASE(is_done_by_the_leader_if_the_engine_cannot_do_both) {
    const auto number = enqueue(written);
    BOOST_TEST(group.sync_through(number).has_value());
    BOOST_TEST(engine.done() == "w1s");
}

BOOST_AUTO_TEST_CASE(fails_the_store_if_it_fails) {
    engine.concurrent = true;
    const auto number = enqueue(written);
    engine.fail_syncs = true;
    BOOST_TEST((group.sync_through(number).error().code == ErrorCode::io_error));
    BOOST_TEST(group.failure().has_value());
    BOOST_TEST(engine.failures == 1);
    BOOST_TEST((wait(enqueue(written), written).error().code == ErrorCode::io_error));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(a_failure, GroupFixture)

BOOST_AUTO_TEST_CASE(of_a_sync_is_returned_to_all_callers_and_stays) {
    engine.fail_syncs = true;
    const auto first = enqueue(written);
    const auto second = enqueue(durable);
    BOOST_TEST((wait(second, durable).error().code == ErrorCode::io_error));
    engine.fail_syncs = false;
    BOOST_TEST((wait(first, written).error().code == ErrorCode::io_error));
    const auto later = enqueue(durable);
    BOOST_TEST(later > second);
    BOOST_TEST((wait(later, durable).error().code == ErrorCode::io_error));
    BOOST_TEST((wait(enqueue(deferred), deferred).error().code == ErrorCode::io_error));
    BOOST_TEST(group.done(later, durable));
    BOOST_TEST((group.failure()->code == ErrorCode::io_error));
    BOOST_TEST(engine.failures == 1);
    BOOST_TEST(engine.done() == "w2s");
}

BOOST_AUTO_TEST_CASE(of_a_write_is_reported_by_its_code) {
    engine.fail_writes = true;
    BOOST_TEST((wait(enqueue(written), written).error().code == ErrorCode::no_space));
    BOOST_TEST((group.failure()->code == ErrorCode::no_space));
}

BOOST_AUTO_TEST_CASE(of_a_separate_sync_does_not_undo_writes) {
    const auto number = enqueue(written);
    BOOST_TEST(wait(number, written).has_value());
    engine.fail_syncs = true;
    BOOST_TEST(!wait(number, durable).has_value());
    BOOST_TEST(wait(number, written).has_value());
}

BOOST_AUTO_TEST_CASE(to_look_up_a_precondition_fails_the_store) {
    engine.fail_reads = true;
    Batch batch = some_batch();
    batch.preconditions.push_back({Family::locks, "other", std::nullopt});
    Verdict verdict;
    const auto number = group.enqueue(std::move(batch), written, &verdict);
    BOOST_TEST((wait(number, written).error().code == ErrorCode::corrupt));
    BOOST_TEST(engine.done() == "");
}

BOOST_AUTO_TEST_CASE(wakes_all_waiters) {
    engine.gate_next = true;
    engine.fail_writes = true;
    std::atomic<int> failed_calls{0};
    std::vector<std::jthread> callers;
    callers.emplace_back(
        [&] { failed_calls += wait(enqueue(durable), durable).has_value() ? 0 : 1; });
    engine.entered.acquire();
    for (int i = 0; i < 6; ++i) {
        const auto durability = i % 2 == 0 ? durable : written;
        const auto number = enqueue(durability);
        callers.emplace_back([&, number, durability] {
            failed_calls += wait(number, durability).has_value() ? 0 : 1;
        });
    }
    engine.leave.release();
    callers.clear();
    BOOST_TEST(failed_calls == 7);
}

// If a reader finds a corruption, the next decision fails, but not the one that is being written.
BOOST_AUTO_TEST_CASE(found_by_a_reader_lets_the_leader_finish) {
    engine.gate_next = true;
    std::jthread leader([&] { must(wait(enqueue(durable), durable)); });
    engine.entered.acquire();
    group.fail(Error(ErrorCode::corrupt, "found"));
    BOOST_TEST(!group.failure());
    engine.leave.release();
    leader.join();
    BOOST_TEST((group.failure()->code == ErrorCode::corrupt));
    BOOST_TEST(!wait(enqueue(written), written).has_value());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(a_manual_step, GroupFixture)

BOOST_AUTO_TEST_CASE(writes_at_most_the_given_number) {
    const auto first = enqueue(durable);
    const auto second = enqueue(durable);
    BOOST_TEST(group.step(1, false).has_value());
    BOOST_TEST(group.done(first, written));
    BOOST_TEST(!group.done(first, durable));
    BOOST_TEST(!group.done(second, written));
    BOOST_TEST(group.queued() == 1U);
    BOOST_TEST(group.step(0, true).has_value());
    BOOST_TEST(group.done(first, durable));
    BOOST_TEST(!group.done(second, written));
    BOOST_TEST(group.step(5, true).has_value());
    BOOST_TEST(group.done(second, durable));
    BOOST_TEST(engine.done() == "w1 s w1s");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
