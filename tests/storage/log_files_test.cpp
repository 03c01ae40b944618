// The logs of a store after a crash, including the space that is preallocated after the records.
#include "storage/files/log_files.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <rocklock/storage/storage.hpp>
#include <rocklock/testing/simulated_clock.hpp>

#include "storage/files/log_tail.hpp"
#include "support/in_child.hpp"
#include "support/temporary_directory.hpp"

namespace rocklock::testing {
BOOST_AUTO_TEST_SUITE(log_files, *boost::unit_test::label("rocksdb"))

namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

// The last written byte is part of a checksum and may be zero.
std::size_t written_of(std::string_view log) {
    LogTail tail;
    for (std::size_t at = 0; at < log.size(); at += LogTail::block_bytes) {
        tail.read(log.substr(at, LogTail::block_bytes));
    }
    return tail.end();
}

std::string key_of(int number) {
    const std::string digits = std::to_string(number);
    return "k" + std::string(3 - digits.size(), '0') + digits;
}

// The size of a commit of one key in the log, and the part of it that is not the value.
constexpr std::size_t record_bytes = 128;
// A commit after a sync contains a mark of that sync.
constexpr std::size_t mark_bytes = 34;
constexpr std::size_t frame_bytes = 27 + mark_bytes;

void put(Storage& storage, std::string key, std::size_t value_bytes) {
    Batch batch;
    batch.writes.push_back({Family::locks, std::move(key), std::string(value_bytes, 'x')});
    storage.commit(std::move(batch), Durability::durable).value();
}

struct Fixture {
    static constexpr int count = 400;

    TemporaryDirectory directory;
    SimulatedClock clock;
    const std::string path = directory / "store";
    fs::path log;
    // The log as the crash left it.
    std::string bytes;

    // Creates a store that is synced after each commit until its process is killed.
    Fixture() {
        const int status = in_child([&] {
            auto storage = open_rocksdb_storage(path, clock, {}).value();
            // From here on no record crosses the end of a block.
            LogTail tail;
            tail.read(contents(find_log()));
            const std::size_t begun = tail.end();
            const std::size_t rest = (begun + frame_bytes + 1) % record_bytes;
            put(*storage, "fill", 3 * record_bytes - rest);
            for (int i = 0; i < count; ++i) {
                put(*storage, key_of(i), record_bytes - frame_bytes);
            }
            std::ignore = storage.release();
            return 0;
        });
        BOOST_REQUIRE(status == 0);
        log = find_log();
        bytes = contents(log);
        BOOST_REQUIRE(written_of(bytes) % record_bytes == 0U);
    }

    fs::path find_log() const {
        for (const auto& entry : fs::directory_iterator(path + "/db")) {
            if (entry.path().extension() == ".commits" && entry.file_size() > 0)
                return entry.path();
        }
        BOOST_FAIL("no log in " << path);
        return {};
    }

    // Opens a copy with this log. Returns the number of commits that are present, or -1 if the
    // store is reported as corrupt. Without SYNCED_LOG, only the log states how far it was synced.
    int opened_with(const std::string& changed, bool after_power_cut) {
        const std::string copy = directory / "copy";
        fs::remove_all(copy);
        fs::copy(path, copy, fs::copy_options::recursive);
        BOOST_REQUIRE(fs::remove(copy + "/db/SYNCED_COMMITS"));
        std::ofstream(fs::path(copy) / "db" / log.filename(), std::ios::binary) << changed;
        SimulatedClock later;
        if (after_power_cut) later.reboot("boot-2");
        const auto storage = open_rocksdb_storage(copy, later, {});
        if (!storage) {
            BOOST_TEST((storage.error().code == ErrorCode::corrupt), storage.error().message);
            return -1;
        }
        int there = 0;
        while (there < count && (*storage)->get(Family::locks, key_of(there)).value()) ++there;
        for (int i = there; i < count; ++i) {
            BOOST_REQUIRE(!(*storage)->get(Family::locks, key_of(i)).value());
        }
        return there;
    }
};

// Records which files were created and which were synced.
class Recorder final : public rocksdb::FileSystemWrapper {
public:
    Recorder() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}

    const char* Name() const override { return "Recorder"; }

    rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSWritableFile>* file,
                                      rocksdb::IODebugContext* debug) override {
        seen.push_back("new " + fs::path(path).filename().string());
        return target()->NewWritableFile(path, options, file, debug);
    }
    rocksdb::IOStatus NewRandomRWFile(const std::string& path, const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSRandomRWFile>* file,
                                      rocksdb::IODebugContext* debug) override {
        auto status = target()->NewRandomRWFile(path, options, file, debug);
        *file = std::make_unique<File>(std::move(*file), fs::path(path).filename(), seen);
        return status;
    }

    std::vector<std::string> seen;

private:
    class File final : public rocksdb::FSRandomRWFileOwnerWrapper {
    public:
        File(std::unique_ptr<rocksdb::FSRandomRWFile> file, std::string name,
             std::vector<std::string>& seen)
            : FSRandomRWFileOwnerWrapper(std::move(file)), name_(std::move(name)), seen_(seen) {}

        rocksdb::IOStatus Sync(const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override {
            seen_.push_back("sync " + name_);
            return target()->Sync(options, debug);
        }

    private:
        std::string name_;
        std::vector<std::string>& seen_;
    };
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(a_log_that_is_synced, Fixture)

BOOST_AUTO_TEST_CASE(is_preallocated_and_read_up_to_its_last_record) {
    BOOST_TEST(bytes.size() > written_of(bytes) + 10'000);
    BOOST_TEST(opened_with(bytes, false) == count);
    BOOST_TEST(opened_with(bytes, true) == count);
}

BOOST_AUTO_TEST_CASE(reads_the_same_without_the_space) {
    BOOST_TEST(opened_with(bytes.substr(0, written_of(bytes)), false) == count);
}

BOOST_AUTO_TEST_CASE(may_end_within_a_write) {
    const std::size_t written = written_of(bytes);
    for (const std::size_t lacking : {1, 50, 99, 110, 120, 128, 135, 140}) {
        std::string torn = bytes;
        std::fill(torn.begin() + static_cast<std::ptrdiff_t>(written - lacking), torn.end(), '\0');
        // The last byte may have been zero.
        if (torn == bytes) continue;
        for (const bool after_power_cut : {false, true}) {
            const int there = opened_with(torn, after_power_cut);
            BOOST_TEST_CONTEXT("without the last " << lacking << " bytes") {
                BOOST_TEST(there >= count - 2);
                BOOST_TEST(there <= count - 1);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(is_damaged_if_a_byte_differs) {
    std::string damaged = bytes;
    damaged[written_of(bytes) / 2] ^= 0x10;
    BOOST_TEST(opened_with(damaged, false) == -1);
    // The byte had been synced, so a power failure cannot explain the damage.
    BOOST_TEST(opened_with(damaged, true) == -1);
}

// RocksDB alone takes the zeros for preallocated space and continues after them.
BOOST_AUTO_TEST_CASE(is_damaged_if_a_part_is_missing) {
    constexpr std::size_t from = LogTail::block_bytes - 4'096;
    BOOST_REQUIRE(written_of(bytes) > LogTail::block_bytes + record_bytes);
    std::string damaged = bytes;
    std::fill_n(damaged.begin() + from, LogTail::block_bytes - from, '\0');
    BOOST_TEST(opened_with(damaged, false) == -1);
    BOOST_TEST(opened_with(damaged, true) == -1);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_CASE(a_copy_is_made_of_a_store_that_is_synced) {
    const TemporaryDirectory directory;
    SimulatedClock clock;
    const auto storage = open_rocksdb_storage(directory / "store", clock, {}).value();
    for (int i = 0; i < 20; ++i) put(*storage, key_of(i), 100);
    storage->copy_to(directory / "copy", {}).value();
    const auto copy = open_rocksdb_storage(directory / "copy", clock, {}).value();
    for (int i = 0; i < 20; ++i)
        BOOST_TEST(copy->get(Family::locks, key_of(i)).value().has_value());
}

BOOST_AUTO_TEST_CASE(a_log_starts_after_the_previous_one_is_synced) {
    const TemporaryDirectory directory;
    const auto recorder = std::make_shared<Recorder>();
    LogRecovery recovery;
    const auto env = make_log_env(recovery, recorder);
    const auto& files = env->GetFileSystem();
    for (const char* name : {"1.log", "2.sst", "3.log"}) {
        std::unique_ptr<rocksdb::FSWritableFile> file;
        BOOST_REQUIRE(files->NewWritableFile(directory / name, {}, &file, nullptr).ok());
        BOOST_REQUIRE(file->Append("text", {}, nullptr).ok());
        BOOST_REQUIRE(file->Close({}, nullptr).ok());
    }
    fs::remove(directory / "3.log");
    std::unique_ptr<rocksdb::FSWritableFile> file;
    BOOST_REQUIRE(files->NewWritableFile(directory / "4.log", {}, &file, nullptr).ok());
    const std::vector<std::string> expected = {"new 1.log", "new 2.sst", "sync 1.log", "new 3.log",
                                               "new 4.log"};
    BOOST_TEST(recorder->seen == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
