// A process is killed, one byte of its store changes, and the machine reboots.
//
// After that the store either contains everything that was synced, or fails to open. If a power
// failure has left no SYNCED_LOG, the last synced group may be missing, because no later record
// proves that it was synced. The store reports how many bytes it has discarded then.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/storage/storage.hpp>
#include <rocklock/testing/simulated_clock.hpp>

#include "storage/files/log_recovery.hpp"
#include "storage/files/sync_marks.hpp"
#include "support/in_child.hpp"
#include "support/repetitions.hpp"
#include "support/temporary_directory.hpp"

namespace rocklock::testing {
BOOST_AUTO_TEST_SUITE(a_damaged_log, *boost::unit_test::label("rocksdb"))

namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

std::string key_of(int number) {
    const std::string digits = std::to_string(number);
    return "k" + std::string(4 - digits.size(), '0') + digits;
}

// The result of opening the store.
struct Found {
    bool refused = false;
    std::string message;
    // The number of commits before the first missing one.
    int there = 0;
    std::uint64_t discarded = 0;
};

// A store that was synced after each commit until its process was killed. It had been closed once
// before: the commits before that are in tables, the others in a log.
struct LogFixture {
    // Whether the store has SYNCED_LOG. If it has an older one, as after a power failure, it states
    // less.
    enum class Position : std::uint8_t { known, lost };
    static constexpr const char* synced_log = "db/SYNCED_COMMITS";

    static constexpr int count = 600;
    static constexpr int in_tables = 200;

    TemporaryDirectory directory;
    SimulatedClock clock;
    const std::string path = directory / "store";
    std::vector<fs::path> files;
    std::vector<fs::path> logs;

    LogFixture() {
        {
            const auto storage = open_rocksdb_storage(path, clock, {}).value();
            commit(*storage, 0, in_tables);
            storage->close().value();
        }
        const int status = in_child([&] {
            auto storage = open_rocksdb_storage(path, clock, {}).value();
            commit(*storage, in_tables, count);
            std::ignore = storage.release();
            return 0;
        });
        BOOST_REQUIRE(status == 0);
        for (const auto& entry : fs::recursive_directory_iterator(path)) {
            if (!entry.is_regular_file() || entry.file_size() == 0) continue;
            files.push_back(fs::relative(entry.path(), path));
            if (entry.path().extension() == ".commits") logs.push_back(files.back());
        }
        std::sort(files.begin(), files.end());
        std::sort(logs.begin(), logs.end());
        BOOST_REQUIRE(!logs.empty());
    }

    static void commit(Storage& storage, int from, int to) {
        for (int i = from; i < to; ++i) {
            Batch batch;
            batch.writes.push_back({Family::locks, key_of(i), "12345678" + std::string(200, 'x')});
            storage.commit(std::move(batch), Durability::durable).value();
        }
    }

    // Returns how many bytes of the log contain records.
    static std::size_t written_of(const std::string& log) {
        return static_cast<std::size_t>(measure_log(log).written);
    }

    // Opens a copy of the store in which `file` has the given bytes, or does not exist if `bytes`
    // is null.
    Found open_with(const fs::path& file, const std::string* bytes, const char* boot = "boot-2",
                    Position position = Position::known) {
        const std::string copy = directory / "copy";
        fs::remove_all(copy);
        fs::copy(path, copy, fs::copy_options::recursive);
        if (position == Position::lost) BOOST_REQUIRE(fs::remove(fs::path(copy) / synced_log));
        if (bytes != nullptr) {
            std::ofstream(fs::path(copy) / file, std::ios::binary) << *bytes;
        } else {
            BOOST_REQUIRE(fs::remove(fs::path(copy) / file));
        }
        SimulatedClock later;
        later.reboot(boot);
        const auto storage = open_rocksdb_storage(copy, later, {});
        if (!storage) {
            BOOST_TEST_MESSAGE(file.string() << ": " << storage.error().message);
            BOOST_TEST((storage.error().code == ErrorCode::corrupt));
            return {.refused = true, .message = storage.error().message};
        }
        Found found;
        found.discarded = (*storage)->discarded_log_bytes();
        for (; found.there < count; ++found.there) {
            const auto value = (*storage)->get(Family::locks, key_of(found.there));
            if (!value) return {.refused = true, .message = value.error().message};
            if (!*value) break;
            BOOST_TEST(**value == "12345678" + std::string(200, 'x'));
        }
        return found;
    }

    void flip_and_judge(const fs::path& file, std::size_t offset, unsigned bit) {
        std::string bytes = contents(fs::path(path) / file);
        bytes[offset] = static_cast<char>(bytes[offset] ^ (1U << bit));
        const Found found = open_with(file, &bytes);
        BOOST_TEST_CONTEXT("bit " << bit << " of byte " << offset << " of " << file.string()) {
            BOOST_TEST((found.refused || found.there >= min_with(file)));
            if (file == synced_log) return;
            const Found later = open_with(file, &bytes, "boot-2", Position::lost);
            if (later.refused) return;
            BOOST_TEST(later.there >= count - 1);
            if (later.there < count) BOOST_TEST(later.discarded > 0U);
        }
    }

    // If SYNCED_LOG itself is damaged, the position is not known.
    int min_with(const fs::path& file) const { return file == synced_log ? count - 1 : count; }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(loses_no_synced_record_if_a_bit_is_flipped, LogFixture) {
    std::mt19937 random(1);
    for (int i = 0; i < (runs_all() ? 1'000 : repetitions(60, 3)); ++i) {
        // Three of four bits are in the written part of a log.
        const bool in_log = i % 4 != 0;
        const auto& some = in_log ? logs : files;
        const fs::path& file = some[random() % some.size()];
        const std::string bytes = contents(fs::path(path) / file);
        const std::size_t size = in_log ? written_of(bytes) : bytes.size();
        if (size > 0) flip_and_judge(file, random() % size, random() % 8);
    }
}

// If a length in the header of a record is wrong, other bytes are read as the next record. RocksDB
// takes a record that ends beyond the end of the log for an incomplete last write.
BOOST_FIXTURE_TEST_CASE(loses_no_synced_record_if_a_length_is_wrong, LogFixture) {
    const fs::path& log = logs.back();
    const std::string bytes = contents(fs::path(path) / log);
    const std::size_t size = written_of(bytes);
    for (std::size_t offset = 5; offset < size && offset < 3'000; offset += 241) {
        flip_and_judge(log, offset, 6);
    }
    std::string longer = bytes;
    longer[5] = static_cast<char>(longer[5] ^ 0x40);
    for (const Position position : {Position::known, Position::lost}) {
        BOOST_TEST(open_with(log, &longer, "boot-2", position).refused);
        BOOST_TEST(open_with(log, &longer, "boot-1", position).refused);
    }
}

BOOST_FIXTURE_TEST_CASE(is_refused_if_it_is_shorter_than_the_synced_part, LogFixture) {
    const fs::path& log = logs.back();
    const std::string bytes = contents(fs::path(path) / log);
    const std::size_t size = written_of(bytes);
    // The end of the record before the last one: no record is incomplete.
    const std::size_t boundary = measure_log(bytes.substr(0, size - 1)).intact;
    BOOST_REQUIRE(boundary > size - 1'000);
    for (const char* const boot : {"boot-1", "boot-2"}) {
        for (const std::size_t length :
             {std::size_t{0}, std::size_t{1}, size / 3, size / 2, boundary, size - 1}) {
            BOOST_TEST_CONTEXT(length << " of " << size << " bytes, " << boot) {
                const std::string cut = bytes.substr(0, length);
                const Found found = open_with(log, &cut, boot);
                BOOST_TEST(found.refused);
                BOOST_TEST(found.message.find("is damaged") != std::string::npos);
            }
        }
        BOOST_TEST(open_with(log, nullptr, boot).refused);
        // Only preallocated zeros are missing.
        const std::string whole = bytes.substr(0, size);
        BOOST_TEST(open_with(log, &whole, boot).there == count);
    }
}

BOOST_FIXTURE_TEST_CASE(is_read_up_to_a_torn_write_and_reports_the_discarded_bytes, LogFixture) {
    const fs::path& log = logs.back();
    const std::string bytes = contents(fs::path(path) / log);
    const std::size_t size = written_of(bytes);
    const Found whole = open_with(log, &bytes);
    BOOST_TEST(whole.there == count);
    BOOST_TEST(whole.discarded == 0U);
    for (const char* const boot : {"boot-1", "boot-2"}) {
        std::string torn = bytes;
        std::fill(torn.begin() + static_cast<std::ptrdiff_t>(size - 20), torn.end(), '\0');
        BOOST_TEST(open_with(log, &torn, boot).refused);
        const Found found = open_with(log, &torn, boot, Position::lost);
        BOOST_TEST(found.there == count - 1);
        BOOST_TEST(found.discarded == measure_log(torn).written - measure_log(torn).intact);
        BOOST_TEST(found.discarded > 200U);
    }
}

BOOST_FIXTURE_TEST_CASE(does_not_count_preallocated_zeros_as_discarded, LogFixture) {
    const fs::path& log = logs.back();
    std::string bytes = contents(fs::path(path) / log);
    const std::size_t size = written_of(bytes);
    BOOST_REQUIRE(bytes.size() > size + 50'000);
    bytes[size + 40'000] = 'x';
    bytes[size + 40'009] = 'x';
    const Found found = open_with(log, &bytes);
    BOOST_TEST(found.there == count);
    BOOST_TEST(found.discarded == 10U);
}

BOOST_FIXTURE_TEST_CASE(is_refused_if_its_synced_end_is_missing, LogFixture) {
    const fs::path& log = logs.back();
    std::string bytes = contents(fs::path(path) / log);
    const std::size_t size = written_of(bytes);
    // The last two commits are intact, and they contain sync marks.
    for (const std::size_t lost : {1'000, 1'500}) {
        std::string torn = bytes;
        std::fill_n(torn.begin() + static_cast<std::ptrdiff_t>(size - lost), 400, '\0');
        BOOST_TEST(open_with(log, &torn).refused);
        BOOST_TEST(open_with(log, &torn, "boot-2", Position::lost).refused);
    }
}

BOOST_AUTO_TEST_CASE(has_marks_that_are_found_across_blocks_and_not_in_other_stores) {
    constexpr std::size_t block = 32'768;
    const std::uint64_t key = sync_mark_key("identity");
    std::string mark;
    encode_sync_mark(key, {7, 1'234}, mark);
    BOOST_REQUIRE(mark.size() == 32U);
    for (const std::size_t before : {std::size_t{100}, block - 10, block - 31, block - 1}) {
        std::string log(before, 'x');
        if (before + mark.size() > block) {
            const std::size_t part = block - before;
            log += mark.substr(0, part) + "headers" + mark.substr(part);
        } else {
            log += mark;
        }
        const auto found = find_sync_marks(key, log);
        BOOST_REQUIRE(found.size() == 1U);
        BOOST_TEST((found.front() == SyncMark{7, 1'234}));
        BOOST_TEST(find_sync_marks(sync_mark_key("another"), log).empty());
        log.back() = 'y';
        BOOST_TEST(find_sync_marks(key, log).empty());
    }
}

// A log is created after the previous log has been synced, and the commits in the new log record
// that.
BOOST_AUTO_TEST_CASE(is_refused_if_a_later_log_records_that_it_was_synced) {
    const TemporaryDirectory directory;
    const std::uint64_t key = sync_mark_key("identity");
    const auto judge = [&](const std::string& first, const std::string& second) {
        std::ofstream(directory / "000004.log", std::ios::binary) << first;
        std::ofstream(directory / "000007.log", std::ios::binary) << second;
        LogRecovery recovery;
        recovery.begin(key, directory / "", true).value();
        auto& files = *rocksdb::FileSystem::Default();
        const auto status = recovery.judge(files, directory / "000004.log", LogTail());
        if (!status.ok()) return -1;
        BOOST_REQUIRE(recovery.judge(files, directory / "000007.log", LogTail()).ok());
        return static_cast<int>(recovery.discarded());
    };
    const std::string torn = "half a record";
    const std::string unmarked = "what came after";
    std::string mark;
    encode_sync_mark(key, {4, 0}, mark);
    BOOST_TEST(judge("", "headers" + mark) == static_cast<int>(mark.size() + 7));
    BOOST_TEST(judge(torn, "") == static_cast<int>(torn.size()));
    BOOST_TEST(judge(torn, unmarked) == static_cast<int>(torn.size() + unmarked.size()));
    BOOST_TEST(judge(torn, "headers" + mark) == -1);
    encode_sync_mark(key, {4, 100}, mark);
    BOOST_TEST(judge("", "headers" + mark) == -1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
