// The commit log of a store on disk: what is recovered from it, and when its files are deleted.
#include "storage/files/commit_log.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <rocksdb/db.h>

#include <rocklock/storage/maintenance.hpp>
#include <rocklock/storage/storage.hpp>
#include <rocklock/testing/simulated_clock.hpp>

#include "base/bytes.hpp"
#include "storage/files/crc32c.hpp"
#include "storage/files/sync_marks.hpp"
#include "storage/rocksdb/rocksdb_setup.hpp"
#include "support/temporary_directory.hpp"

namespace rocklock::testing {
BOOST_AUTO_TEST_SUITE(a_commit_log, *boost::unit_test::label("rocksdb"))

namespace {

namespace fs = std::filesystem;

std::string value_of(std::uint64_t version, std::size_t size = 100) {
    std::string bytes;
    append_u64(bytes, version);
    return bytes + std::string(size, static_cast<char>('a' + version % 26));
}

std::string key_of(std::size_t number) {
    const std::string digits = std::to_string(number);
    return "g" + std::string(6 - digits.size(), '0') + digits;
}

Batch put(Family family, std::string key, std::string bytes) {
    Batch batch;
    batch.writes.push_back({family, std::move(key), std::move(bytes)});
    return batch;
}

std::string contents(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

struct Fixture {
    TemporaryDirectory directory;
    SimulatedClock clock;
    const std::string path = directory / "store";

    std::unique_ptr<Storage> open(std::size_t write_buffer = 8U << 20) {
        RocksdbOptions options;
        options.write_buffer_bytes = write_buffer;
        return open_rocksdb_storage(path, clock, options).value();
    }
    ErrorCode refusal() {
        const auto opened = open_rocksdb_storage(path, clock, {});
        BOOST_REQUIRE(!opened);
        BOOST_TEST_MESSAGE(opened.error().message);
        return opened.error().code;
    }
    std::vector<fs::path> logs() const {
        std::vector<fs::path> logs;
        for (const auto& entry : fs::directory_iterator(path + "/db")) {
            if (entry.path().extension() == ".commits") logs.push_back(entry.path());
        }
        std::sort(logs.begin(), logs.end());
        return logs;
    }
};

using Model = std::map<std::pair<Family, std::string>, std::string>;

void check(const Snapshot& snapshot, const Model& model, Family family) {
    const auto forwards = snapshot.scan(family, "", "");
    for (const auto& [key, value] : model) {
        if (key.first != family) continue;
        BOOST_REQUIRE(forwards->valid());
        BOOST_REQUIRE(forwards->key() == key.second);
        BOOST_REQUIRE(forwards->value() == value);
        BOOST_REQUIRE((snapshot.get(family, key.second).value() == value));
        forwards->next();
    }
    BOOST_TEST(!forwards->valid());
    const auto backwards = snapshot.scan_back(family, "", "");
    for (auto each = model.rbegin(); each != model.rend(); ++each) {
        if (each->first.first != family) continue;
        BOOST_REQUIRE(backwards->valid());
        BOOST_REQUIRE(backwards->key() == each->first.second);
        backwards->next();
    }
    BOOST_TEST(!backwards->valid());
}

// Writes random batches to a store with a small write buffer, so that records are flushed and files
// of the log deleted meanwhile, and sometimes ends the store without close().
struct RandomWrites : Fixture {
    std::mt19937 random{7};
    Model model;
    std::uint64_t version = 0;
    std::unique_ptr<Storage> storage = open(small);
    static constexpr std::size_t small = 64U << 10;

    void write(std::size_t batches) {
        for (std::size_t i = 0; i < batches; ++i) {
            Batch batch;
            for (std::size_t writes = 1 + random() % 4; writes > 0; --writes) {
                const Family family = random() % 3 == 0 ? Family::items : Family::locks;
                Write write{family, key_of(random() % 600), std::nullopt};
                if (random() % 4 != 0) write.value = value_of(++version, random() % 200);
                const std::pair key(family, write.key);
                if (write.value) {
                    model[key] = *write.value;
                } else {
                    model.erase(key);
                }
                batch.writes.push_back(std::move(write));
            }
            const bool durable = random() % 16 == 0;
            storage->commit(std::move(batch), durable ? Durability::durable : Durability::written)
                .value();
        }
    }
    void check_all(const Snapshot& snapshot) const {
        check(snapshot, model, Family::locks);
        check(snapshot, model, Family::items);
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(has_the_checksum_of_the_standard) {
    // RFC 3720, appendix B.4.
    BOOST_TEST(crc32c(std::string(32, '\0')) == 0x8A9136AAU);
    BOOST_TEST(crc32c(std::string(32, '\xFF')) == 0x62A8AB43U);
    BOOST_TEST(crc32c("123456789") == 0xE3069283U);
}

BOOST_FIXTURE_TEST_CASE(is_recovered_together_with_the_table_files, RandomWrites) {
    for (int run = 0; run < 12; ++run) {
        write(400);
        const auto before = storage->snapshot();
        const Model then = model;
        write(200);
        check(*before, then, Family::locks);
        check(*before, then, Family::items);
        check_all(*storage->snapshot());
    }
    for (int run = 0; run < 12; ++run) {
        write(random() % 600);
        if (random() % 3 == 0) storage->close().value();
        storage.reset();
        storage = open(small);
        check_all(*storage->snapshot());
    }
    BOOST_TEST(logs().size() < 40U);
}

BOOST_FIXTURE_TEST_CASE(is_short_after_a_close, RandomWrites) {
    write(2'000);
    storage->close().value();
    storage.reset();
    BOOST_REQUIRE(logs().size() == 1U);
    BOOST_TEST(fs::file_size(logs().front()) == 0U);
}

BOOST_FIXTURE_TEST_CASE(is_part_of_a_copy, RandomWrites) {
    write(1'500);
    const Model then = model;
    storage->copy_to(directory / "copy", {{Family::meta, "mark", value_of(1)}}).value();
    write(500);
    const auto copy = open_rocksdb_storage(directory / "copy", clock, {}).value();
    check(*copy->snapshot(), then, Family::locks);
    check(*copy->snapshot(), then, Family::items);
    BOOST_TEST((copy->get(Family::meta, "mark").value() == value_of(1)));
    // A copy of the copy contains its mark again, although the copy has deleted it.
    Batch unmark;
    unmark.writes.push_back({Family::meta, "mark", std::nullopt});
    copy->commit(std::move(unmark)).value();
    copy->copy_to(directory / "again", {{Family::meta, "mark", value_of(2)}}).value();
    const auto again = open_rocksdb_storage(directory / "again", clock, {}).value();
    check(*again->snapshot(), then, Family::locks);
    BOOST_TEST((again->get(Family::meta, "mark").value() == value_of(2)));
}

BOOST_FIXTURE_TEST_CASE(is_read_by_readers_of_the_open_store, RandomWrites) {
    write(1'000);
    RocksdbOptions shared;
    shared.purpose = Purpose::read_shared;
    // The store may delete a file meanwhile.
    auto reader = open_rocksdb_storage(path, clock, shared);
    for (int tries = 0; !reader && tries < 10; ++tries) {
        reader = open_rocksdb_storage(path, clock, shared);
    }
    check_all(*reader.value()->snapshot());
    BOOST_TEST(!(*reader)->commit(put(Family::locks, "g", value_of(1))));
    storage.reset();
    for (const Purpose purpose : {Purpose::read_only, Purpose::check}) {
        RocksdbOptions options;
        options.purpose = purpose;
        const auto other_reader = open_rocksdb_storage(path, clock, options).value();
        check_all(*other_reader->snapshot());
    }
    storage = open();
    check_all(*storage->snapshot());
}

// The reader can find the prepared file empty, and read it after the store has started it.
BOOST_FIXTURE_TEST_CASE(is_read_during_commits, Fixture) {
    const auto storage = open(64U << 10);
    std::atomic<bool> stops{false};
    std::thread writer([&] {
        for (std::uint64_t version = 1; !stops.load(); ++version) {
            storage
                ->commit(put(Family::locks, key_of(version % 1'000), value_of(version)),
                         Durability::written)
                .value();
        }
    });
    RocksdbOptions shared;
    shared.purpose = Purpose::read_shared;
    int opened = 0;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{2};
    while (std::chrono::steady_clock::now() < end) {
        const auto reader = open_rocksdb_storage(path, clock, shared);
        if (reader) {
            ++opened;
            continue;
        }
        // RocksDB can delete table files meanwhile.
        BOOST_TEST(reader.error().message.find(".commits") == std::string::npos,
                   reader.error().message);
    }
    stops = true;
    writer.join();
    BOOST_TEST(opened > 0);
}

BOOST_FIXTURE_TEST_CASE(is_corrupt_if_a_file_is_missing, Fixture) {
    for (std::size_t run = 0; run < 3; ++run) {
        const auto storage = open();
        storage->commit(put(Family::locks, key_of(run), value_of(run))).value();
    }
    const auto all = logs();
    BOOST_REQUIRE(all.size() == 3U);
    for (const fs::path& log : all) {
        fs::rename(log, directory / "kept");
        BOOST_TEST((refusal() == ErrorCode::corrupt));
        fs::rename(directory / "kept", log);
    }
    BOOST_TEST((open()->get(Family::locks, key_of(2)).value() == value_of(2)));
}

// After a power failure, an unsynced file may be damaged although a later one is not.
BOOST_FIXTURE_TEST_CASE(is_cut_at_the_first_damage_after_a_power_cut, Fixture) {
    open().reset();
    for (std::size_t run = 0; run < 3; ++run) {
        const auto storage = open();
        for (std::size_t i = 0; i < 10; ++i) {
            storage
                ->commit(put(Family::locks, key_of(10 * run + i), value_of(i)), Durability::written)
                .value();
        }
    }
    // The file of the second run.
    const fs::path log = *std::next(logs().end(), -2);
    std::string bytes = contents(log);
    const std::size_t middle = measure_log(bytes).written / 2;
    bytes[middle] = static_cast<char>(bytes[middle] ^ 1);
    std::ofstream(log, std::ios::binary) << bytes;
    // A killed process cannot cause this.
    BOOST_TEST((refusal() == ErrorCode::corrupt));
    fs::remove(path + "/db/SYNCED_COMMITS");
    clock.reboot("boot-2");
    std::size_t there = 0;
    for (int again = 0; again < 2; ++again) {
        const auto storage = open();
        if (again == 0) BOOST_TEST(storage->discarded_log_bytes() > 1'000U);
        there = 0;
        while (there < 30 && storage->get(Family::locks, key_of(there)).value()) ++there;
        BOOST_TEST(there >= 10U);
        BOOST_TEST(there < 20U);
        for (std::size_t i = there; i < 30; ++i) {
            BOOST_TEST(!storage->get(Family::locks, key_of(i)).value());
        }
    }
    // Later commits are recovered.
    open()->commit(put(Family::locks, key_of(there), value_of(1))).value();
    BOOST_TEST((open()->get(Family::locks, key_of(there)).value() == value_of(1)));
}

// A file that was not synced can lose its last records completely, although a later file exists.
struct LostEnd : Fixture {
    // The end of the fifth record of the second file.
    std::uint64_t middle = 0;

    void write(Durability durability) {
        open().reset();
        for (std::size_t run = 0; run < 3; ++run) {
            const auto storage = open();
            for (std::size_t i = 0; i < 10; ++i) {
                storage->commit(put(Family::locks, key_of(10 * run + i), value_of(i)), durability)
                    .value();
                if (run == 1 && i == 4) middle = measure_log(contents(logs().back())).written;
            }
        }
        fs::resize_file(*std::next(logs().end(), -2), middle);
        clock.reboot("boot-2");
    }
};

BOOST_FIXTURE_TEST_CASE(is_cut_where_records_are_missing_after_a_power_cut, LostEnd) {
    write(Durability::written);
    {
        const auto storage = open();
        BOOST_TEST(storage->discarded_log_bytes() > 1'000U);
        for (std::size_t i = 0; i < 30; ++i) {
            BOOST_TEST(storage->get(Family::locks, key_of(i)).value().has_value() == (i < 15));
        }
        storage->commit(put(Family::locks, key_of(20), value_of(1))).value();
    }
    const auto storage = open();
    BOOST_TEST(storage->discarded_log_bytes() == 0U);
    BOOST_TEST((storage->get(Family::locks, key_of(20)).value() == value_of(1)));
}

BOOST_FIXTURE_TEST_CASE(is_corrupt_if_synced_records_are_missing_at_the_end_of_a_file, LostEnd) {
    write(Durability::durable);
    BOOST_TEST((refusal() == ErrorCode::corrupt));
    // The marks in the last file suffice.
    fs::remove(path + "/db/SYNCED_COMMITS");
    BOOST_TEST((refusal() == ErrorCode::corrupt));
}

BOOST_FIXTURE_TEST_CASE(is_part_of_a_copy_before_the_first_commit, Fixture) {
    open()->commit(put(Family::locks, key_of(1), value_of(1)), Durability::written).value();
    const auto storage = open();
    storage->copy_to(directory / "copy", {}).value();
    const auto copy = open_rocksdb_storage(directory / "copy", clock, {}).value();
    BOOST_TEST((copy->get(Family::locks, key_of(1)).value() == value_of(1)));
}

// The log of the backup contains the deletion of the mark that restore_store() writes.
BOOST_FIXTURE_TEST_CASE(is_applied_before_the_mark_of_a_restored_store, Fixture) {
    {
        const auto storage = open();
        storage->commit(put(Family::locks, key_of(1), value_of(1))).value();
        Batch unmark;
        unmark.writes.push_back({Family::meta, "lock copy", std::nullopt});
        storage->commit(std::move(unmark)).value();
    }
    restore_store(path, directory / "restored").value();
    const auto restored = open_rocksdb_storage(directory / "restored", clock, {}).value();
    BOOST_TEST(restored->get(Family::meta, "lock copy").value().has_value());
    BOOST_TEST((restored->get(Family::locks, key_of(1)).value() == value_of(1)));
}

// After a crash between the last two steps of a flush, files remain that are not needed.
BOOST_FIXTURE_TEST_CASE(loses_unneeded_files_at_the_next_open, Fixture) {
    {
        const auto storage = open();
        storage->commit(put(Family::locks, key_of(1), value_of(1))).value();
    }
    const fs::path first = logs().front();
    fs::copy_file(first, directory / "kept");
    open()->close().value();
    fs::copy_file(directory / "kept", first);
    BOOST_TEST((open()->get(Family::locks, key_of(1)).value() == value_of(1)));
    BOOST_TEST(!fs::exists(first));
}

namespace {

// Items that take several megabytes of the log, so that not all of them can be kept in memory until
// RocksDB is open. Each is written twice, and so is the record of a lock for each.
struct LargeItems : Fixture {
    static constexpr std::size_t items = 20;

    void write(std::uint64_t version) {
        const auto storage = open();
        for (std::size_t i = 0; i < items; ++i) {
            Batch batch = put(Family::items, key_of(i), value_of(version, 100'000));
            batch.writes.push_back({Family::locks, key_of(i), value_of(version)});
            storage->commit(std::move(batch)).value();
        }
    }
    void check_all(Storage& storage, std::uint64_t version) const {
        for (std::size_t i = 0; i < items; ++i) {
            BOOST_TEST(
                (storage.get(Family::items, key_of(i)).value() == value_of(version, 100'000)));
            BOOST_TEST((storage.get(Family::locks, key_of(i)).value() == value_of(version)));
        }
    }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(is_read_although_its_items_do_not_fit_in_memory, LargeItems) {
    write(1);
    write(2);
    for (int run = 0; run < 2; ++run) check_all(*open(), 2);
}

// A file remains after a crash in a flush, and is damaged: its first versions must not replace the
// later ones, which are in table files.
BOOST_FIXTURE_TEST_CASE(is_not_applied_from_damaged_files_that_are_not_needed, LargeItems) {
    write(1);
    write(2);
    const auto files = logs();
    BOOST_REQUIRE(files.size() == 2u);
    for (const fs::path& file : files) fs::copy_file(file, directory / file.filename().string());
    open()->close().value();
    for (const fs::path& file : files) fs::copy_file(directory / file.filename().string(), file);
    std::string bytes = contents(files[1]);
    const std::size_t middle = measure_log(bytes).written / 2;
    bytes[middle] = static_cast<char>(bytes[middle] ^ 1);
    std::ofstream(files[1], std::ios::binary) << bytes;
    for (int run = 0; run < 2; ++run) check_all(*open(), 2);
}

namespace {

// A store that flushes at 64 KB of current records, 192 KB of all records, or 256 KB of the log.
struct SmallBuffer : Fixture {
    static constexpr std::size_t buffer = 128U << 10;
    std::unique_ptr<Storage> storage = open(buffer);
    std::uint64_t version = 0;

    // Writes to `keys` keys in turns, until a new file of the log is used. Returns the number of
    // commits.
    std::uint64_t write_until_flush(std::size_t keys) {
        const fs::path last = storage_log();
        std::uint64_t commits = 0;
        for (; storage_log() == last; ++commits) {
            BOOST_REQUIRE(commits < 100'000);
            const std::string key = key_of(++version % keys);
            storage->commit(put(Family::locks, key, value_of(version)), Durability::written)
                .value();
        }
        return commits;
    }
    // The last file that contains records. The flush thread can delete files meanwhile.
    fs::path storage_log() const {
        fs::path found;
        for (const fs::path& log : logs()) {
            std::error_code failed;
            const auto size = fs::file_size(log, failed);
            if (found.empty() || (!failed && size > 0)) found = log;
        }
        return found;
    }
    // Waits until the flush thread has deleted the files before the current one, and has created
    // the one after it.
    void await_next_file() const {
        for (int tries = 0; tries < 10'000; ++tries) {
            const auto files = logs();
            if (files.size() == 2 && files[0] == storage_log()) return;
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
        }
        BOOST_FAIL("there is no file for the next flush");
    }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(is_longer_before_a_flush_if_records_are_replaced, SmallBuffer) {
    const std::uint64_t distinct = write_until_flush(100'000);
    await_next_file();
    const std::uint64_t replaced = write_until_flush(10);
    BOOST_TEST(distinct > 200u);
    BOOST_TEST(distinct < 800u);
    BOOST_TEST(replaced > 2 * distinct);
    BOOST_TEST(replaced < 10 * distinct);
}

BOOST_FIXTURE_TEST_CASE(has_a_file_for_the_next_flush, SmallBuffer) {
    for (int flush = 0; flush < 3; ++flush) {
        write_until_flush(100'000);
        await_next_file();
        BOOST_TEST(fs::file_size(logs()[1]) == 0u);
    }
    // Killed in the middle of a commit, with the prepared file behind it.
    const std::string key = key_of(999);
    storage->commit(put(Family::locks, key, value_of(1)), Durability::written).value();
    storage->commit(put(Family::locks, key, value_of(2)), Durability::written).value();
    const auto files = logs();
    storage.reset();
    // Zeros can follow the last record.
    fs::resize_file(files[0], contents(files[0]).find_last_not_of('\0') - 10);
    for (int run = 0; run < 2; ++run) {
        storage = open(buffer);
        BOOST_TEST((storage->get(Family::locks, key).value() == value_of(1)));
        storage.reset();
    }
    storage = open(buffer);
    storage->commit(put(Family::locks, key, value_of(3))).value();
    storage = nullptr;
    BOOST_TEST((open()->get(Family::locks, key).value() == value_of(3)));
}

// RocksDB must not write records to its files that a power failure can remove from the log.
BOOST_FIXTURE_TEST_CASE(prevents_the_open_if_it_cannot_be_synced, Fixture) {
    open()->commit(put(Family::locks, key_of(1), value_of(1))).value();
    BOOST_TEST(fs::exists(path + "/SYNCED"));
    const std::string unreadable = path + "/db/000099.commits";
    fs::create_symlink("missing", unreadable);
    BOOST_TEST(!open_rocksdb_storage(path, clock));
    // The next open expects a loss as after a power failure.
    BOOST_TEST(!fs::exists(path + "/SYNCED"));
    fs::remove(unreadable);
    BOOST_TEST((open()->get(Family::locks, key_of(1)).value() == value_of(1)));
}

// If the file with the identity of the database is replaced, the key of the sync marks changes.
// RocksDB determines the identity.
BOOST_FIXTURE_TEST_CASE(is_read_after_the_identity_has_changed, Fixture) {
    open()->commit(put(Family::locks, key_of(1), value_of(1))).value();
    for (const std::string identity : {"", "another identity"}) {
        fs::remove(path + "/db/IDENTITY");
        if (!identity.empty()) std::ofstream(path + "/db/IDENTITY") << identity;
        for (int run = 0; run < 2; ++run) {
            BOOST_TEST((open()->get(Family::locks, key_of(1)).value() == value_of(1)));
        }
    }
}

// Opens a store of format 2, whose last commits are in RocksDB's log.
BOOST_FIXTURE_TEST_CASE(is_started_when_a_store_of_format_2_is_opened, Fixture) {
    {
        const auto storage = open();
        storage->commit(put(Family::locks, key_of(1), value_of(1))).value();
        storage->close().value();
    }
    for (const fs::path& log : logs()) fs::remove(log);
    fs::remove(path + "/db/SYNCED_COMMITS");
    {
        std::vector<rocksdb::ColumnFamilyHandle*> handles;
        rocksdb::DB* opened = nullptr;
        BOOST_REQUIRE(
            rocksdb::DB::Open(database_options({}, false, LogEnd::whole, *rocksdb::Env::Default()),
                              path + "/db", family_descriptors({}), &handles, &opened)
                .ok());
        const std::unique_ptr<rocksdb::DB> database(opened);
        std::string format = value_of(5, 0);
        append_u32(format, 2);
        rocksdb::WriteOptions synced;
        synced.sync = true;
        rocksdb::WriteBatch batch;
        BOOST_REQUIRE(batch.Delete(handles[0], "commits").ok());
        BOOST_REQUIRE(batch.Put(handles[1], "format", format).ok());
        BOOST_REQUIRE(batch.Put(handles[4], key_of(2), value_of(2)).ok());
        BOOST_REQUIRE(database->Write(synced, &batch).ok());
        for (auto* const handle : handles)
            std::ignore = database->DestroyColumnFamilyHandle(handle);
    }
    for (int run = 0; run < 2; ++run) {
        const auto storage = open();
        BOOST_TEST((storage->get(Family::locks, key_of(1)).value() == value_of(1)));
        BOOST_TEST((storage->get(Family::locks, key_of(2)).value() == value_of(2)));
        const std::string format = storage->get(Family::meta, "format").value().value();
        BOOST_TEST(*Reader(std::string_view(format).substr(8)).u32() == 3U);
        storage->commit(put(Family::locks, key_of(3), value_of(3)), Durability::written).value();
    }
    BOOST_TEST((open()->get(Family::locks, key_of(3)).value() == value_of(3)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
