// The contract of storage: deadlines, durability, closing and concurrency.
#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "storage/every_kind_of_store.hpp"

namespace rocklock::testing {

using namespace contract;

BOOST_AUTO_TEST_SUITE(a_deadline_of_a_batch)

BOOST_DATA_TEST_CASE(is_judged_on_the_boot_clock, every_kind, kind) {
    using namespace std::chrono_literals;
    Store store(kind);
    const auto now = store.clock.now().boot;
    const auto commit_until = [&](BootTime deadline) {
        Batch batch = put("a", value(1));
        batch.not_after = deadline;
        return store->commit(std::move(batch));
    };
    BOOST_TEST(commit_until(now + 1ns).has_value());
    BOOST_TEST(!commit_until(now).has_value());
    store.clock.jump_wall(-24h);
    BOOST_TEST(!commit_until(now - 1ns).has_value());
    store.clock.jump_wall(48h);
    BOOST_TEST(commit_until(now + 1ns).has_value());
    BOOST_TEST((commit_until(now).error().code == ErrorCode::precondition_failed));
}

// The deadline is compared with the time at which the leader checks the batch, not with the time of
// the call.
BOOST_DATA_TEST_CASE(counts_when_the_batch_is_written, kinds_with_queue, kind) {
    using namespace std::chrono_literals;
    Store store(kind);
    Verdict verdict;
    Batch batch = put("a", value(1));
    batch.not_after = store.clock.now().boot + 1s;
    const auto number = store->enqueue(std::move(batch), Durability::durable, &verdict);
    store.clock.advance(1s);
    store->wait(number, Durability::durable).value();
    BOOST_TEST(verdict.refused.has_value());
    BOOST_TEST(!read(*store.storage, "a"));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_commit)

BOOST_DATA_TEST_CASE(is_complete_when_it_has_the_requested_durability, kinds_with_queue, kind) {
    Store store(kind);
    const auto first = store->enqueue(put("a", value(1)), Durability::written);
    const auto second = store->enqueue(put("b", value(1)), Durability::durable);
    BOOST_TEST(!store->done(first, Durability::written));
    BOOST_TEST(!store->done(second, Durability::durable));
    store->wait(second, Durability::durable).value();
    BOOST_TEST(store->done(first, Durability::durable));
    BOOST_TEST(store->done(second, Durability::durable));
    BOOST_TEST(store->done(second, Durability::written));
}

BOOST_DATA_TEST_CASE(may_be_made_more_durable_later, every_kind, kind) {
    Store store(kind);
    const auto number = store->enqueue(put("a", value(1)), Durability::written);
    store->wait(number, Durability::written).value();
    store->wait(number, Durability::durable).value();
    BOOST_TEST(store->done(number, Durability::durable));
}

BOOST_DATA_TEST_CASE(that_is_deferred_is_written_when_the_store_is_idle, every_kind, kind) {
    Store store(kind);
    const auto number = store->enqueue(put("a", value(1)), Durability::deferred);
    BOOST_TEST(store->done(number, Durability::deferred));
    store->wait(number, Durability::deferred).value();
    BOOST_TEST(store->done(number, Durability::written));
    BOOST_TEST(read(*store.storage, "a").has_value());
}

BOOST_DATA_TEST_CASE(that_is_deferred_leaves_a_queued_durable_one_to_its_owner, every_kind, kind) {
    Store store(kind);
    const auto durable = store->enqueue(put("a", value(1)), Durability::durable);
    const auto deferred = store->enqueue(put("b", value(1)), Durability::deferred);
    store->wait(deferred, Durability::deferred).value();
    store->wait(durable, Durability::durable).value();
    BOOST_TEST(store->done(deferred, Durability::written));
    BOOST_TEST(listing(*store->snapshot()) == "a= b=");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(closing)

BOOST_DATA_TEST_CASE(writes_queued_batches_and_refuses_later_ones, every_kind, kind) {
    Store store(kind);
    store->enqueue(put("a", value(1)), Durability::deferred);
    store->close().value();
    BOOST_TEST(read(*store.storage, "a").has_value());
    const auto answer = store->commit(put("b", value(1)), Durability::written);
    BOOST_TEST((answer.error().code == ErrorCode::closing));
    BOOST_TEST(!store->suspect());
    store->close().value();
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(many_threads)

// Several threads increment counters with conditional writes. No increment may be lost.
void raise_counters(Storage& storage, int threads, int raises) {
    std::atomic<int> lost{0};
    {
        std::vector<std::jthread> workers;
        workers.reserve(static_cast<std::size_t>(threads));
        for (int t = 0; t < threads; ++t) {
            workers.emplace_back([&, t] {
                for (int i = 0; i < raises;) {
                    const std::string key = "counter" + std::to_string((t + i) % 3);
                    const auto old = storage.get(Family::items, key).value();
                    const std::uint64_t version = old ? version_of(*old) : 0;
                    auto batch = provided(put(key, value(version + 1)), key,
                                          old ? std::optional(version) : std::nullopt);
                    const auto durability = i % 2 == 0 ? Durability::durable : Durability::written;
                    const auto answer = storage.commit(std::move(batch), durability);
                    if (answer) {
                        ++i;
                    } else if (answer.error().code != ErrorCode::precondition_failed) {
                        ++lost;
                        return;
                    }
                    // A commit for which no thread waits.
                    const auto noise = storage.enqueue(put("noise" + std::to_string(t), value(1)),
                                                       Durability::deferred);
                    if (!storage.wait(noise, Durability::deferred)) ++lost;
                }
            });
        }
    }
    BOOST_TEST(lost == 0);
    std::uint64_t sum = 0;
    for (const char* key : {"counter0", "counter1", "counter2"}) {
        sum += version_of(read(storage, key).value_or(""));
    }
    BOOST_TEST(sum == static_cast<std::uint64_t>(threads * raises));
}

BOOST_DATA_TEST_CASE(increment_counters_without_a_lost_update, own_kinds, kind) {
    Store store(kind);
    raise_counters(*store.storage, 8, 300);
}

BOOST_AUTO_TEST_CASE(increment_counters_on_disk_without_a_lost_update,
                     *boost::unit_test::label("rocksdb")) {
    Store store(Kind::rocksdb);
    raise_counters(*store.storage, 8, 100);
}

// Waits for the write of a commit by a thread of the store. Only a store on etcd has such a thread:
// in the others, a caller of wait() has already written the commit.
bool is_written_soon(Store& store, Kind kind, CommitNumber number) {
    const auto limit =
        std::chrono::steady_clock::now() + std::chrono::seconds(kind == Kind::etcd ? 20 : 0);
    while (!store->done(number, Durability::written)) {
        if (std::chrono::steady_clock::now() >= limit) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

// A deferred commit does not stay in the queue, even if no thread waits for it.
BOOST_DATA_TEST_CASE(leave_no_deferred_commit_unwritten, own_kinds, kind) {
    Store store(kind);
    for (int round = 0; round < 50; ++round) {
        std::atomic<CommitNumber> last{0};
        {
            std::vector<std::jthread> workers;
            workers.reserve(8);
            for (int t = 0; t < 8; ++t) {
                workers.emplace_back([&, t] {
                    for (int i = 0; i < 20; ++i) {
                        const auto durability = (t + i) % 4 == 0   ? Durability::durable
                                                : (t + i) % 4 == 1 ? Durability::written
                                                                   : Durability::deferred;
                        const auto number =
                            store->enqueue(put("k" + std::to_string(t), value(1)), durability);
                        if (!store->wait(number, durability)) std::abort();
                        auto seen = last.load();
                        while (seen < number && !last.compare_exchange_weak(seen, number)) {
                        }
                    }
                });
            }
        }
        BOOST_TEST(is_written_soon(store, kind, last));
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
