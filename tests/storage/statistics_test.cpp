// The syncs and the sizes that a store reports.
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include <boost/test/unit_test.hpp>

#include <rocklock/storage/storage.hpp>
#include <rocklock/testing/simulated_clock.hpp>

#include "storage/disk_use.hpp"
#include "support/temporary_directory.hpp"

namespace rocklock::testing {
namespace {

using std::chrono::steady_clock;

Batch batch_of(std::string key, const std::string& text) {
    Batch batch;
    batch.writes.push_back({Family::locks, std::move(key), "12345678" + text});
    return batch;
}

void write_file(const std::string& path, std::size_t bytes) {
    std::ofstream(path, std::ios::binary) << std::string(bytes, 'x');
}

}  // namespace

BOOST_AUTO_TEST_SUITE(the_space_of_a_directory)

BOOST_AUTO_TEST_CASE(includes_subdirectories) {
    const TemporaryDirectory directory;
    const auto empty = occupied_bytes(directory.path()).value();
    std::filesystem::create_directory(directory / "db");
    write_file(directory / "db/file", 300'000);
    const auto used = occupied_bytes(directory.path()).value();
    BOOST_TEST(used >= empty + 300'000);
    BOOST_TEST(used < empty + 400'000);
}

BOOST_AUTO_TEST_CASE(is_unknown_if_the_directory_does_not_exist) {
    const TemporaryDirectory directory;
    BOOST_TEST(!occupied_bytes(directory / "none").has_value());
    StorageStatistics statistics;
    DiskUse().add_to(statistics, directory / "none", steady_clock::now());
    BOOST_TEST(!statistics.bytes.has_value());
    BOOST_TEST(!statistics.free_bytes.has_value());
}

BOOST_AUTO_TEST_CASE(is_determined_again_after_a_period) {
    const TemporaryDirectory directory;
    const DiskUse use;
    const auto at = [&](steady_clock::time_point now) {
        StorageStatistics statistics;
        use.add_to(statistics, directory.path(), now);
        return statistics.bytes.value();
    };
    const auto start = steady_clock::now();
    const auto before = at(start);
    write_file(directory / "file", 300'000);
    BOOST_TEST(at(start + DiskUse::period - std::chrono::seconds{1}) == before);
    BOOST_TEST(at(start + DiskUse::period) >= before + 300'000);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(the_statistics_of_a_store)

BOOST_AUTO_TEST_CASE(in_memory_have_neither_syncs_nor_sizes) {
    SimulatedClock clock;
    const auto storage = make_memory_storage(clock);
    storage->commit(batch_of("a", "1")).value();
    const auto statistics = storage->statistics();
    BOOST_TEST(statistics.syncs.count() == 0U);
    BOOST_TEST(!statistics.bytes.has_value());
    BOOST_TEST(!statistics.file_system_bytes.has_value());
}

BOOST_AUTO_TEST_CASE(on_disk_count_each_sync, *boost::unit_test::label("rocksdb")) {
    const TemporaryDirectory directory;
    SimulatedClock clock;
    const auto storage = open_rocksdb_storage(directory / "store", clock).value();
    const auto syncs = storage->statistics().syncs.count();
    storage->commit(batch_of("a", "1"), Durability::durable).value();
    BOOST_TEST(storage->statistics().syncs.count() == syncs + 1);
    storage->commit(batch_of("b", "1"), Durability::written).value();
    BOOST_TEST(storage->statistics().syncs.count() == syncs + 1);
    // A sync without a write counts as well.
    const auto number = storage->enqueue(batch_of("c", "1"), Durability::written);
    storage->sync_through(number).value();
    const auto statistics = storage->statistics();
    BOOST_TEST(statistics.syncs.count() == syncs + 2);
    BOOST_TEST(statistics.syncs.sum().count() > 0);
}

BOOST_AUTO_TEST_CASE(on_disk_have_sizes, *boost::unit_test::label("rocksdb")) {
    const TemporaryDirectory directory;
    SimulatedClock clock;
    const auto storage = open_rocksdb_storage(directory / "store", clock).value();
    storage->commit(batch_of("a", std::string(1'000'000, 'x')), Durability::durable).value();
    const auto statistics = storage->statistics();
    BOOST_TEST(statistics.bytes.value() > 1'000'000U);
    BOOST_TEST(statistics.file_system_bytes.value() >= statistics.free_bytes.value());
    BOOST_TEST(statistics.file_system_bytes.value() > statistics.bytes.value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
