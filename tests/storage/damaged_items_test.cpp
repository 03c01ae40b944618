// One byte of a data file with items changes while no process has the store open.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>

#include <boost/test/unit_test.hpp>

#include <rocklock/storage/storage.hpp>
#include <rocklock/testing/simulated_clock.hpp>

#include "support/temporary_directory.hpp"

namespace rocklock::testing {
namespace {

namespace fs = std::filesystem;

struct DamagedItems {
    TemporaryDirectory directory;
    SimulatedClock clock;
    const std::string path = directory / "store";

    // Changes a byte in the only data file that contains `text`.
    void damage(const std::string& text) const {
        for (const auto& entry : fs::directory_iterator(path + "/db")) {
            if (entry.path().extension() != ".sst") continue;
            std::ifstream in(entry.path(), std::ios::binary);
            std::string bytes(std::istreambuf_iterator<char>(in), {});
            const auto offset = bytes.find(text);
            if (offset == std::string::npos) continue;
            bytes[offset] = static_cast<char>(bytes[offset] ^ 0x10);
            std::ofstream(entry.path(), std::ios::binary) << bytes;
            return;
        }
        BOOST_FAIL("no file contains " << text);
    }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(damaged_items, DamagedItems, *boost::unit_test::label("rocksdb"))

BOOST_AUTO_TEST_CASE(fail_only_what_reads_them) {
    {
        const auto storage = open_rocksdb_storage(path, clock, {}).value();
        for (int i = 0; i < 30; ++i) {
            const std::string key = "k" + std::to_string(i);
            Batch batch;
            batch.writes.push_back(
                {Family::items, key, "12345678<" + key + ">" + std::string(1'000, 'x')});
            storage->commit(std::move(batch), Durability::durable).value();
        }
        storage->close().value();
    }
    damage("<k20>");
    const auto storage = open_rocksdb_storage(path, clock, {}).value();
    const auto write_with = [&](const std::string& key, const std::string& read) {
        Batch batch;
        batch.preconditions.push_back({Family::items, read, std::nullopt});
        batch.writes.push_back({Family::items, key, "12345678"});
        return storage->commit(std::move(batch), Durability::durable);
    };
    BOOST_TEST((storage->get(Family::items, "k20").error().code == ErrorCode::corrupt));
    BOOST_TEST((write_with("a", "k20").error().code == ErrorCode::corrupt));
    const auto snapshot = storage->snapshot();
    const auto cursor = snapshot->scan(Family::items, "", "");
    while (cursor->valid()) cursor->next();
    BOOST_TEST((cursor->status().error().code == ErrorCode::corrupt));
    BOOST_TEST((storage->verify().error().code == ErrorCode::corrupt));

    BOOST_TEST(!storage->failure());
    BOOST_TEST(storage->get(Family::items, "k0").value().has_value());
    BOOST_TEST(!storage->get(Family::items, "a").value().has_value());
    write_with("a", "absent").value();
    BOOST_TEST(fs::exists(path + "/SYNCED"));
    storage->close().value();
}

// RocksDB merges the files of a family when there are four of them, and blocks all writes if there
// are 36.
BOOST_AUTO_TEST_CASE(do_not_stop_writes_when_files_are_merged) {
    RocksdbOptions options;
    options.write_buffer_bytes = 64U << 10;
    const auto fill = [](Storage& storage, int from, int to) {
        for (int i = from; i < to; ++i) {
            Batch batch;
            // Keys that are not in ascending order: files with separate ranges are moved, not read.
            const std::string key = std::to_string(i % 10) + "/" + std::to_string(i);
            batch.writes.push_back(
                {Family::items, key, "12345678<" + key + ">" + std::string(2'000, 'x')});
            const auto committed = storage.commit(std::move(batch), Durability::written);
            BOOST_REQUIRE(committed);
        }
    };
    {
        const auto storage = open_rocksdb_storage(path, clock, options).value();
        fill(*storage, 0, 10);
        storage->close().value();
    }
    damage("<5/5>");
    const auto storage = open_rocksdb_storage(path, clock, options).value();
    fill(*storage, 10, 2'500);
    BOOST_TEST(!storage->failure());
    for (const std::string key : {"0/0", "9/9", "4/1234"}) {
        BOOST_TEST(storage->get(Family::items, key).value().has_value());
    }
    BOOST_TEST((storage->get(Family::items, "5/5").error().code == ErrorCode::corrupt));
    storage->close().value();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
