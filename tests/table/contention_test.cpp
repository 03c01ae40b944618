// Many threads write one item. No write is lost, and every thread makes progress.
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "support/forwarding_storage.hpp"
#include "support/temporary_directory.hpp"
#include "table/make.hpp"
#include "table/write/retry_queue.hpp"

namespace rocklock::proof {

namespace {

std::int64_t number_in(TableService& service, const char* key) {
    const auto item = service.get_item(get("counters", {{"pk", key}})).value().item;
    return item->find("n")->get_if<Number>()->to_int64().value();
}

// Calls a function once, when an item is read or when a snapshot is taken.
class InterruptedStorage final : public testing::ForwardingStorage {
public:
    using ForwardingStorage::ForwardingStorage;

    Result<std::optional<std::string>> get(Family family, std::string_view key) const override {
        auto value = ForwardingStorage::get(family, key);
        if (family == Family::items && interrupt) std::exchange(interrupt, nullptr)();
        return value;
    }

    std::unique_ptr<Snapshot> snapshot() const override {
        if (interrupt_snapshot) std::exchange(interrupt_snapshot, nullptr)();
        return ForwardingStorage::snapshot();
    }

    mutable std::function<void()> interrupt;
    mutable std::function<void()> interrupt_snapshot;
};

// Each thread increments the counter `times` times, in one step or with a conditional write after a
// read.
void count_up(TableService& service, int threads, int times) {
    service.create_table(table_of("counters", "pk S")).value();
    in_threads(threads, [&](int) {
        for (int i = 0; i < times; ++i) {
            service
                .write_item(update("counters", {{"pk", "a"}}, "ADD n :one", {{":one", number(1)}}))
                .value();
        }
    });
    BOOST_TEST(number_in(service, "a") == threads * times);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(table)
BOOST_FIXTURE_TEST_SUITE(writers_of_one_item, Tables)

BOOST_AUTO_TEST_CASE(all_succeed_without_a_lost_update) { count_up(*service, 64, 20); }

BOOST_AUTO_TEST_CASE(win_a_condition_one_at_a_time) {
    service->create_table(table_of("counters", "pk S")).value();
    service->write_item(put("counters", {{"pk", "a"}, {"n", number(0)}})).value();
    constexpr int threads = 8;
    constexpr int times = 25;
    std::atomic<int> refused = 0;
    in_threads(threads, [&](int) {
        for (int won = 0; won < times;) {
            const auto seen = number_in(*service, "a");
            const auto write = provided(
                update("counters", {{"pk", "a"}}, "SET n = :next", {{":next", number(seen + 1)}}),
                "n = :seen", {{":seen", number(seen)}});
            const auto answer = service->write_item(write);
            won += answer ? 1 : 0;
            if (!answer && answer.error().code == ErrorCode::condition_failed) ++refused;
            if (!answer && answer.error().code != ErrorCode::condition_failed) answer.value();
        }
    });
    BOOST_TEST(number_in(*service, "a") == threads * times);
    BOOST_TEST_MESSAGE(refused << " were refused");
}

BOOST_AUTO_TEST_CASE(create_it_once_if_it_must_be_absent) {
    service->create_table(table_of("counters", "pk S")).value();
    std::atomic<int> made = 0;
    in_threads(16, [&](int i) {
        const auto write =
            provided(put("counters", {{"pk", "a"}, {"n", number(i)}}), "attribute_not_exists(pk)");
        made += service->write_item(write) ? 1 : 0;
    });
    BOOST_TEST(made == 1);
}

BOOST_AUTO_TEST_CASE(leave_an_index_that_fits_the_item) {
    auto wanted = table_of("counters", "pk S");
    add_index(wanted, "gidx", "g N");
    service->create_table(wanted).value();
    in_threads(8, [&](int thread) {
        for (int i = 0; i < 20; ++i) {
            auto write = put("counters", {{"pk", "a"}, {"g", number(thread * 100 + i)}});
            if (i % 5 == 4) write = remove("counters", {{"pk", "a"}});
            service->write_item(write).value();
        }
    });
    BOOST_TEST(rows(Family::index) == rows(Family::items));
}

BOOST_AUTO_TEST_CASE(write_into_a_table_or_find_it_deleted) {
    service->create_table(table_of("counters", "pk S")).value();
    std::atomic<int> wrong = 0;
    in_threads(4, [&](int thread) {
        for (int i = 0; i < 50; ++i) {
            if (thread == 0) {
                service->delete_table("counters").value();
                service->create_table(table_of("counters", "pk S")).value();
                continue;
            }
            const auto answer =
                service->write_item(put("counters", {{"pk", i % 2 == 0 ? "a" : "b"}}));
            if (!answer && answer.error().code != ErrorCode::resource_not_found) ++wrong;
        }
    });
    BOOST_TEST(wrong == 0);
    service->delete_table("counters").value();
    // No thread has written items after the table was deleted.
    BOOST_TEST(rows(Family::items) == 0U);
}

BOOST_AUTO_TEST_CASE(write_into_the_new_table_if_theirs_is_created_again) {
    InterruptedStorage interrupted(make_memory_storage(clock));
    const auto tables = open_tables(interrupted, clock).value();
    tables->create_table(table_of("counters", "pk S")).value();
    interrupted.interrupt = [&] {
        tables->delete_table("counters").value();
        tables->create_table(table_of("counters", "pk S")).value();
    };
    const auto write = put("counters", {{"pk", "a"}, {"n", number(1)}});
    tables->write_item(provided(write, "attribute_not_exists(pk)")).value();
    BOOST_TEST(!interrupted.interrupt);
    BOOST_TEST(number_in(*tables, "a") == 1);
}

BOOST_AUTO_TEST_CASE(write_together_into_the_new_table_if_theirs_is_created_again) {
    for (const bool batch : {false, true}) {
        InterruptedStorage interrupted(make_memory_storage(clock));
        const auto tables = open_tables(interrupted, clock).value();
        tables->create_table(table_of("counters", "pk S")).value();
        interrupted.interrupt_snapshot = [&] {
            tables->delete_table("counters").value();
            tables->create_table(table_of("counters", "pk S")).value();
        };
        TransactWrite transaction;
        transaction.actions = {put("counters", {{"pk", "a"}, {"n", number(1)}}),
                               put("counters", {{"pk", "b"}, {"n", number(2)}})};
        BatchWrite puts;
        puts.writes = transaction.actions;
        if (batch) {
            tables->batch_write(puts).value();
        } else {
            tables->transact_write(transaction).value();
        }
        BOOST_TEST(!interrupted.interrupt_snapshot);
        BOOST_TEST(number_in(*tables, "a") == 1);
        BOOST_TEST(number_in(*tables, "b") == 2);
    }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(writers_of_one_item_on_a_disk)

BOOST_AUTO_TEST_CASE(all_succeed_without_a_lost_update, *boost::unit_test::label("rocksdb")) {
    testing::TemporaryDirectory directory;
    testing::SimulatedClock clock;
    const auto storage = open_rocksdb_storage(directory / "store", clock).value();
    TableOptions options;
    options.durability = Durability::written;
    const auto service = open_tables(*storage, clock, options).value();
    count_up(*service, 16, 10);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(the_retry_queue)

BOOST_AUTO_TEST_CASE(admits_one_writer_at_a_time_and_several_slots_do_not_deadlock) {
    rocklock::table::RetryQueue queue;
    std::atomic<int> inside = 0;
    std::atomic<int> most = 0;
    in_threads(8, [&](int thread) {
        for (int i = 0; i < 100; ++i) {
            std::vector<std::size_t> buckets{3, 7, 3};
            if (thread % 2 == 0) buckets = {7, 3};
            std::optional<rocklock::table::RetryQueue::Slot> slot;
            queue.take(buckets, slot);
            const int now = ++inside;
            if (now > most) most = now;
            --inside;
        }
    });
    BOOST_TEST(most == 1);
    BOOST_TEST(!queue.is_contended({3, 7}));
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::proof
