// When FlushThread calls its function, and when an idle store writes table files.
#include "storage/flush_thread.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include <boost/test/unit_test.hpp>

#include <rocklock/clock.hpp>
#include <rocklock/storage/storage.hpp>

#include "base/mutex.hpp"
#include "support/in_child.hpp"
#include "support/temporary_directory.hpp"

namespace rocklock::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr milliseconds quiet_time{20};
constexpr milliseconds never = std::chrono::hours{1};
constexpr seconds patience{60};
constexpr std::uint64_t gb = 1U << 30;

// Counts the flushes of an FlushThread.
class Flushes {
public:
    void add() {
        const MutexLock lock(mutex_);
        ++count_;
        changed_.notify_all();
    }
    bool await(std::size_t count) {
        const MutexLock lock(mutex_);
        while (count_ < count) {
            if (!changed_.wait_for(mutex_, patience)) return false;
        }
        return true;
    }
    std::size_t count() {
        const MutexLock lock(mutex_);
        return count_;
    }

private:
    Mutex mutex_;
    CondVar changed_;
    std::size_t count_ ROCKLOCK_GUARDED_BY(mutex_) = 0;
};

struct Flushing {
    explicit Flushing(milliseconds quiet) : idle([this] { flushes.add(); }, quiet) {}

    Flushes flushes;
    FlushThread idle;
};

std::size_t table_files(const TemporaryDirectory& directory) {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory.path())) {
        if (entry.path().extension() == ".sst") ++count;
    }
    return count;
}

bool has_table_files_soon(const TemporaryDirectory& directory) {
    const auto end = steady_clock::now() + patience;
    while (table_files(directory) == 0 && steady_clock::now() < end) {
        std::this_thread::sleep_for(milliseconds{10});
    }
    return table_files(directory) > 0;
}

std::unique_ptr<Storage> open(const TemporaryDirectory& directory,
                              const RocksdbOptions& options = {}) {
    auto opened = open_rocksdb_storage(directory / "store", system_clock(), options);
    BOOST_REQUIRE(opened);
    return *std::move(opened);
}

void put(Storage& storage, std::size_t first, std::size_t count) {
    Batch batch;
    for (std::size_t i = first; i < first + count; ++i) {
        batch.writes.push_back({Family::items, "key " + std::to_string(i),
                                std::string(8, '\1') + std::string(400, 'v')});
    }
    BOOST_REQUIRE(storage.commit(std::move(batch), Durability::written));
}

BOOST_AUTO_TEST_SUITE(flush_thread)

BOOST_AUTO_TEST_CASE(flushes_once_after_a_write) {
    Flushing store(quiet_time);
    store.idle.start();
    store.idle.wrote();
    BOOST_TEST(store.flushes.await(1));
    std::this_thread::sleep_for(10 * quiet_time);
    BOOST_TEST(store.flushes.count() == 1U);
}

BOOST_AUTO_TEST_CASE(flushes_again_after_another_write) {
    Flushing store(quiet_time);
    store.idle.start();
    for (std::size_t i = 1; i <= 5; ++i) {
        store.idle.wrote();
        BOOST_TEST(store.flushes.await(i));
    }
}

BOOST_AUTO_TEST_CASE(flushes_on_request) {
    Flushing store(never);
    store.idle.start();
    store.idle.request();
    BOOST_TEST(store.flushes.await(1));
    store.idle.wrote();
    store.idle.request();
    BOOST_TEST(store.flushes.await(2));
}

BOOST_AUTO_TEST_CASE(a_write_before_the_start_is_flushed) {
    Flushing store(quiet_time);
    store.idle.wrote();
    store.idle.start();
    BOOST_TEST(store.flushes.await(1));
}

BOOST_AUTO_TEST_CASE(does_not_flush_without_writes_or_before_the_quiet_time) {
    Flushing unwritten(quiet_time);
    unwritten.idle.start();
    Flushing written(never);
    written.idle.start();
    written.idle.wrote();
    std::this_thread::sleep_for(10 * quiet_time);
    BOOST_TEST(unwritten.flushes.count() == 0U);
    BOOST_TEST(written.flushes.count() == 0U);
}

// The second write of each round comes at about the time of the decision about the first one.
BOOST_AUTO_TEST_CASE(does_not_miss_writes_that_race_with_its_decision) {
    std::atomic<std::size_t> written{0};
    std::atomic<std::size_t> flushed{0};
    FlushThread idle([&] { flushed = written.load(); }, milliseconds{1});
    idle.start();
    for (std::size_t i = 1; i <= 300; ++i) {
        idle.wrote();
        std::this_thread::sleep_for(std::chrono::microseconds{900 + i * 37 % 1200});
        written = i;
        idle.wrote();
        const auto end = steady_clock::now() + patience;
        while (flushed != i && steady_clock::now() < end) std::this_thread::yield();
        BOOST_REQUIRE(flushed == i);
    }
}

BOOST_AUTO_TEST_CASE(stop_does_not_wait_for_the_quiet_time) {
    Flushing store(never);
    store.idle.start();
    store.idle.wrote();
    const auto start = steady_clock::now();
    store.idle.stop();
    BOOST_TEST((steady_clock::now() - start < patience));
    BOOST_TEST(store.flushes.count() == 0U);
}

BOOST_AUTO_TEST_CASE(can_be_destroyed_by_a_child_of_the_process) {
    auto store = std::make_unique<Flushing>(never);
    store->idle.start();
    const int status = in_child([&] {
        store.reset();
        return 0;
    });
    BOOST_TEST(status == 0);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(idle_store, *boost::unit_test::label("rocksdb"))

BOOST_AUTO_TEST_CASE(writes_its_records_to_table_files) {
    const TemporaryDirectory directory;
    {
        const auto storage = open(directory);
        put(*storage, 0, 3000);
        BOOST_TEST(has_table_files_soon(directory));
        put(*storage, 3000, 1);
        // The storage is destroyed without close(), as by a crash.
    }
    const auto storage = open(directory);
    for (const std::size_t i : {0U, 1500U, 2999U, 3000U}) {
        const auto value = storage->get(Family::items, "key " + std::to_string(i));
        BOOST_REQUIRE(value);
        BOOST_TEST(value->has_value());
    }
}

// A store that is written later must have flushed before the others are checked.
BOOST_AUTO_TEST_CASE(keeps_few_records_in_memory_and_does_not_flush_while_little_space_is_free) {
    const TemporaryDirectory few_directory;
    const auto few = open(few_directory);
    put(*few, 0, 10);

    const TemporaryDirectory full_directory;
    RocksdbOptions options;
    options.file_system_space = [] { return FileSystemSpace{8 * gb, gb / 32}; };
    const auto full = open(full_directory, options);
    put(*full, 0, 3000);

    // More space is free than above, but not enough for the reserve.
    const TemporaryDirectory low_directory;
    options.reserve_bytes = gb / 8;
    options.file_system_space = [] { return FileSystemSpace{8 * gb, gb / 10}; };
    const auto low = open(low_directory, options);
    put(*low, 0, 3000);
    BOOST_TEST(full->accepts_growth());
    BOOST_TEST(!low->accepts_growth());

    const TemporaryDirectory directory;
    const auto storage = open(directory);
    put(*storage, 0, 3000);
    BOOST_TEST(has_table_files_soon(directory));
    std::this_thread::sleep_for(FlushThread::default_quiet_time);
    BOOST_TEST(table_files(few_directory) == 0U);
    BOOST_TEST(table_files(full_directory) == 0U);
    BOOST_TEST(table_files(low_directory) == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace rocklock::testing
