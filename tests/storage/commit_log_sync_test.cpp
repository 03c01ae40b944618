// The syncs of the commit log: which it makes, and what happens after one has failed.
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include <boost/test/unit_test.hpp>
#include <rocksdb/file_system.h>

#include "storage/files/commit_log.hpp"
#include "storage/files/log_sync.hpp"
#include "support/temporary_directory.hpp"

namespace rocklock::testing {

BOOST_AUTO_TEST_SUITE(the_syncs_of_a_commit_log, *boost::unit_test::label("rocksdb"))

namespace {

// A file system on which the next sync of a file or of a directory can fail. Counts the syncs of
// directories.
struct FailingFiles final : rocksdb::FileSystemWrapper {
    struct File final : rocksdb::FSWritableFileOwnerWrapper {
        File(std::unique_ptr<rocksdb::FSWritableFile> target, FailingFiles& files)
            : FSWritableFileOwnerWrapper(std::move(target)), files_(files) {}
        rocksdb::IOStatus Sync(const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override {
            if (std::exchange(files_.file_fails, false)) return rocksdb::IOStatus::IOError("lost");
            return FSWritableFileOwnerWrapper::Sync(options, debug);
        }
        FailingFiles& files_;
    };
    struct Directory final : rocksdb::FSDirectoryWrapper {
        Directory(std::unique_ptr<rocksdb::FSDirectory> target, FailingFiles& files)
            : FSDirectoryWrapper(std::move(target)), files_(files) {}
        rocksdb::IOStatus Fsync(const rocksdb::IOOptions& options,
                                rocksdb::IODebugContext* debug) override {
            ++files_.directory_syncs;
            if (std::exchange(files_.directory_fails, false)) {
                return rocksdb::IOStatus::IOError("lost");
            }
            return FSDirectoryWrapper::Fsync(options, debug);
        }
        FailingFiles& files_;
    };

    FailingFiles() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
    const char* Name() const override { return "FailingFiles"; }
    rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSWritableFile>* result,
                                      rocksdb::IODebugContext* debug) override {
        auto status = target()->NewWritableFile(path, options, result, debug);
        if (status.ok()) *result = std::make_unique<File>(std::move(*result), *this);
        return status;
    }
    rocksdb::IOStatus NewDirectory(const std::string& path, const rocksdb::IOOptions& options,
                                   std::unique_ptr<rocksdb::FSDirectory>* result,
                                   rocksdb::IODebugContext* debug) override {
        auto status = target()->NewDirectory(path, options, result, debug);
        if (status.ok()) *result = std::make_unique<Directory>(std::move(*result), *this);
        return status;
    }

    int directory_syncs = 0;
    bool file_fails = false;
    bool directory_fails = false;
};

// A new log with one record.
struct NewLog {
    NewLog() {
        CommitLog::Reading reading;
        reading.directory = directory / "db";
        std::filesystem::create_directory(reading.directory);
        CommitLog::Extent extent;
        const auto apply = [](auto) { return rocksdb::Status(); };
        BOOST_REQUIRE(log.read(reading, apply, extent).ok());
        BOOST_REQUIRE(log.start(log.open(reading, extent).value()).ok());
        BOOST_TEST(log.append("record").ok());
    }
    TemporaryDirectory directory;
    std::shared_ptr<FailingFiles> files = std::make_shared<FailingFiles>();
    CommitLog log{files};
};

}  // namespace

// The operating system reports a failed sync once, and the data of the file may be lost.
BOOST_FIXTURE_TEST_CASE(fails_after_a_failed_sync, NewLog) {
    files->file_fails = true;
    BOOST_TEST(!log.sync().ok());
    BOOST_TEST(!log.sync().ok());
    BOOST_TEST(!log.append("record").ok());
    BOOST_TEST(!log.start(log.number() + 1).ok());
}

BOOST_FIXTURE_TEST_CASE(syncs_the_entry_of_a_prepared_file_in_advance, NewLog) {
    // The entry of the first file is not synced yet.
    BOOST_TEST(log.prepare_next().ok());
    BOOST_TEST(files->directory_syncs == 0);
    BOOST_TEST(log.sync().ok());
    BOOST_TEST(files->directory_syncs == 1);
    for (int file = 0; file < 3; ++file) {
        BOOST_TEST(log.prepare_next().ok());
        const int synced = files->directory_syncs;
        BOOST_TEST(log.start(log.number() + 1).ok());
        BOOST_TEST(log.append("record").ok());
        BOOST_TEST(log.sync().ok());
        BOOST_TEST(files->directory_syncs == synced);
    }
    BOOST_TEST(files->directory_syncs == 4);
    BOOST_TEST(log.start(log.number() + 1).ok());
    BOOST_TEST(log.append("record").ok());
    BOOST_TEST(log.sync().ok());
    BOOST_TEST(files->directory_syncs == 5);
}

BOOST_FIXTURE_TEST_CASE(fails_after_a_failed_sync_of_a_prepared_file, NewLog) {
    BOOST_TEST(log.sync().ok());
    files->directory_fails = true;
    BOOST_TEST(!log.prepare_next().ok());
    BOOST_TEST(!log.append("record").ok());
    BOOST_TEST(!log.sync().ok());
    BOOST_TEST(!log.start(log.number() + 1).ok());
}

// A file that cannot be opened stands for one that cannot be synced.
BOOST_FIXTURE_TEST_CASE(include_all_files_when_the_log_is_opened, NewLog) {
    const std::string database = directory / "db";
    BOOST_TEST(!LogSync(directory / "missing").finish());
    LogSync sync(database);
    BOOST_TEST(!!sync.finish());
    for (const char* const name : {"/000001.commits.old", "/000001.log", "/000009.commits"}) {
        const std::string link = database + name;
        std::filesystem::create_symlink("missing", link);
        const bool is_of_the_log = link.ends_with(".commits");
        BOOST_TEST(!!LogSync(database).finish() == !is_of_the_log);
        std::filesystem::remove(link);
    }
    // The result of a sync does not change.
    BOOST_TEST(!!sync.finish());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
