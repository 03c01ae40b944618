// The reserve of disk space: when a store accepts no growth, and what happens to the file.
#include "storage/space_reserve.hpp"

#include <sys/resource.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "base/mutex.hpp"
#include "storage/rocksdb/reserved_files.hpp"
#include "support/in_child.hpp"
#include "support/temporary_directory.hpp"

namespace rocklock::testing {
namespace {

using std::chrono::steady_clock;

constexpr std::uint64_t mb = 1U << 20;

// A disk of 1 GB with a reserve of 16 MB. `others` is the space that other files leave.
struct SmallDisk {
    explicit SmallDisk(std::uint64_t left = 500 * mb) : others(left) {
        options.reserve_bytes = 16 * mb;
        options.file_system_space = [this]() -> std::optional<FileSystemSpace> {
            const std::uint64_t own = file_bytes();
            return FileSystemSpace{1024 * mb, others > own ? others - own : 0};
        };
        options.on_space_changed = [this](const SpaceReserveState& state) {
            const MutexLock lock(mutex);
            changes.push_back(state.low);
            changed.notify_all();
        };
    }

    std::string path() const { return directory / "RESERVE"; }
    // The space that the data of the file of the reserve really occupies. The file system also
    // counts the few blocks that record where the data of a fragmented file is.
    std::uint64_t file_bytes() const {
        struct stat status {};
        if (::stat(path().c_str(), &status) != 0) return 0;
        constexpr std::uint64_t unit = 64 * 1024;
        return static_cast<std::uint64_t>(status.st_blocks) * 512 / unit * unit;
    }
    SpaceReserve& start() {
        reserve.emplace(directory.path().string());
        reserve->make_room(options);
        reserve->start(options);
        return *reserve;
    }
    // Writes as much as is needed for a check.
    void write(std::uint64_t bytes = SpaceReserve::check_bytes) {
        reserve->prepare(bytes, steady_clock::now());
    }
    // Waits until `count` changes were reported.
    std::vector<bool> wait_for_changes(std::size_t count) {
        const MutexLock lock(mutex);
        const auto deadline = steady_clock::now() + std::chrono::seconds{60};
        while (changes.size() < count && steady_clock::now() < deadline) {
            changed.wait_for(mutex, std::chrono::milliseconds{100});
        }
        return changes;
    }

    const TemporaryDirectory directory;
    std::atomic<std::uint64_t> others;
    RocksdbOptions options;
    Mutex mutex;
    CondVar changed;
    std::vector<bool> changes ROCKLOCK_GUARDED_BY(mutex);
    std::optional<SpaceReserve> reserve;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(the_reserve_of_a_store)

BOOST_AUTO_TEST_CASE(occupies_its_space_and_accepts_growth) {
    SmallDisk disk;
    const auto& reserve = disk.start();
    BOOST_TEST(disk.file_bytes() == 16 * mb);
    BOOST_TEST(reserve.accepts_growth());
    BOOST_TEST(reserve.state()->allocated_bytes == 16 * mb);
    BOOST_TEST(reserve.state()->free_bytes == 484 * mb);
}

// A compaction can fill the disk before the next commit, which then needs the reserve.
BOOST_AUTO_TEST_CASE(is_checked_by_each_write_of_a_compaction) {
    SmallDisk disk;
    const auto& reserve = disk.start();
    const auto files = make_reserved_files(*disk.reserve);
    std::unique_ptr<rocksdb::FSWritableFile> file;
    BOOST_REQUIRE(files->NewWritableFile(disk.directory / "000001.sst", {}, &file, nullptr).ok());
    file->SetIOPriority(rocksdb::Env::IO_LOW);
    BOOST_TEST(file->Append("a", {}, nullptr).ok());
    BOOST_TEST(reserve.accepts_growth());
    disk.others = 24 * mb - 1;
    BOOST_TEST(file->Append("b", {}, nullptr).ok());
    BOOST_TEST(!reserve.accepts_growth());
}

BOOST_AUTO_TEST_CASE(accepts_no_growth_while_less_than_half_of_its_size_is_free) {
    SmallDisk disk;
    const auto& reserve = disk.start();
    disk.others = 24 * mb;
    disk.write();
    BOOST_TEST(reserve.accepts_growth());
    disk.others = 24 * mb - 1;
    // Not checked before as much is written, or as much time has passed.
    disk.reserve->prepare(100, steady_clock::time_point::min());
    BOOST_TEST(reserve.accepts_growth());
    disk.write();
    BOOST_TEST(!reserve.accepts_growth());
    BOOST_TEST((disk.wait_for_changes(1) == std::vector<bool>{true}));
    const Error refusal = reserve.refusal();
    BOOST_TEST((refusal.code == ErrorCode::no_space));
    BOOST_TEST(refusal.message.find("12.5 MB are free (now: 8.3 MB)") != std::string::npos,
               refusal.message);
    // The file is still whole: the store has room without it.
    BOOST_TEST(disk.file_bytes() == 16 * mb);
}

BOOST_AUTO_TEST_CASE(accepts_growth_again_when_there_is_more_room) {
    SmallDisk disk;
    const auto& reserve = disk.start();
    disk.others = 20 * mb;
    disk.write();
    disk.wait_for_changes(1);
    disk.others = 27 * mb;
    disk.write();
    BOOST_TEST(!reserve.accepts_growth());
    const auto began = steady_clock::now();
    disk.others = 29 * mb;
    BOOST_TEST((disk.wait_for_changes(2) == std::vector<bool>{true, false}));
    BOOST_TEST(reserve.accepts_growth());
    BOOST_TEST((steady_clock::now() - began < std::chrono::seconds{1}));
}

BOOST_AUTO_TEST_CASE(gives_its_space_to_files_and_takes_it_back) {
    SmallDisk disk;
    auto& reserve = disk.start();
    disk.others = 16 * mb;
    disk.write();
    BOOST_TEST(reserve.give(3 * mb));
    // A little more, which the file system may need.
    BOOST_TEST(disk.file_bytes() <= 13 * mb);
    BOOST_TEST(disk.file_bytes() >= 12 * mb);
    BOOST_TEST(reserve.give(100 * mb));
    BOOST_TEST(disk.file_bytes() == 0U);
    BOOST_TEST(!reserve.give(1));
    BOOST_TEST(!reserve.accepts_growth());
    disk.others = 100 * mb;
    BOOST_TEST(disk.wait_for_changes(2).size() == 2U);
    BOOST_TEST(disk.file_bytes() == 16 * mb);
    BOOST_TEST(reserve.accepts_growth());
}

BOOST_AUTO_TEST_CASE(knows_that_the_disk_is_full_before_the_store_is_recovered) {
    SmallDisk disk;
    disk.start();
    disk.reserve.reset();
    BOOST_TEST(disk.file_bytes() == 16 * mb);
    disk.others = 16 * mb;
    disk.reserve.emplace(disk.directory.path().string());
    disk.reserve->make_room(disk.options);
    BOOST_TEST(!disk.reserve->accepts_growth());
    // For small files.
    BOOST_TEST(disk.file_bytes() == 15 * mb);
    BOOST_TEST(disk.reserve->give(mb));
    disk.reserve->start(disk.options);
    BOOST_TEST(!disk.reserve->accepts_growth());
}

BOOST_AUTO_TEST_CASE(occupies_at_most_an_eighth_of_the_file_system) {
    SmallDisk disk;
    disk.options.reserve_bytes = 4096 * mb;
    disk.others = 1000 * mb;
    const auto& reserve = disk.start();
    BOOST_TEST(reserve.state()->bytes == 128 * mb);
    BOOST_TEST(disk.file_bytes() == 128 * mb);
    BOOST_TEST(reserve.accepts_growth());
}

BOOST_AUTO_TEST_CASE(can_change_its_size) {
    SmallDisk disk;
    auto& reserve = disk.start();
    reserve.set_bytes(8 * mb);
    BOOST_TEST(disk.file_bytes() == 8 * mb);
    disk.others = 11 * mb;
    disk.write();
    BOOST_TEST(!reserve.accepts_growth());
    reserve.set_bytes(0);
    BOOST_TEST(reserve.accepts_growth());
    BOOST_TEST(!std::filesystem::exists(disk.path()));
    BOOST_TEST(!reserve.state().has_value());
    disk.others = 100 * mb;
    reserve.set_bytes(16 * mb);
    BOOST_TEST(disk.file_bytes() == 16 * mb);
}

BOOST_AUTO_TEST_CASE(deletes_its_file_after_a_failure) {
    SmallDisk disk;
    auto& reserve = disk.start();
    reserve.abandon();
    BOOST_TEST(!std::filesystem::exists(disk.path()));
    disk.write();
    BOOST_TEST(!std::filesystem::exists(disk.path()));
}

BOOST_AUTO_TEST_CASE(deletes_the_file_of_an_earlier_reserve) {
    SmallDisk disk;
    disk.start();
    disk.options.reserve_bytes = 0;
    disk.start();
    BOOST_TEST(!std::filesystem::exists(disk.path()));
    disk.others = 0;
    disk.write();
    BOOST_TEST(disk.reserve->accepts_growth());
}

// A call that exceeds the limit would end the process.
BOOST_AUTO_TEST_CASE(has_no_file_that_the_process_may_not_have) {
    const int status = in_new_process([] {
        const rlimit limit{mb, mb};
        if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
        SmallDisk disk;
        const auto& reserve = disk.start();
        if (disk.file_bytes() != 0 || !reserve.accepts_growth()) return 2;
        // The free space alone must be as large as the file and half of it.
        disk.others = 24 * mb - 1;
        disk.write();
        if (reserve.accepts_growth()) return 3;
        disk.others = 28 * mb;
        disk.wait_for_changes(2);
        return reserve.accepts_growth() ? 0 : 4;
    });
    BOOST_TEST(status == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
