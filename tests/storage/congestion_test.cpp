// Storage::congested(): whether the flushes of a store on disk are late.
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <boost/test/unit_test.hpp>

#include <rocklock/storage/storage.hpp>
#include <rocklock/testing/simulated_clock.hpp>

#include "support/temporary_directory.hpp"

namespace rocklock::testing {

BOOST_AUTO_TEST_SUITE(a_congested_store, *boost::unit_test::label("rocksdb"))

// Writes faster than a flush can write its files, and then waits for the flush.
BOOST_AUTO_TEST_CASE(is_one_whose_flush_is_late) {
    const TemporaryDirectory directory;
    SimulatedClock clock;
    RocksdbOptions options;
    options.write_buffer_bytes = 64U << 10;
    const auto storage = open_rocksdb_storage(directory / "store", clock, options).value();
    BOOST_TEST(!storage->congested());
    std::size_t commits = 0;
    for (; !storage->congested(); ++commits) {
        BOOST_REQUIRE(commits < 1'000'000);
        Batch batch;
        batch.writes.push_back(
            {Family::locks, std::to_string(commits), "12345678" + std::string(1'000, 'x')});
        storage->commit(std::move(batch), Durability::written).value();
    }
    // The flush has begun with 32 KB, and the buffer was then filled again.
    BOOST_TEST(commits > 48U);
    for (int tries = 0; storage->congested(); ++tries) {
        BOOST_REQUIRE(tries < 10'000);
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    for (std::size_t i = 0; i < commits; ++i) {
        BOOST_REQUIRE(storage->get(Family::locks, std::to_string(i)).value().has_value());
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
