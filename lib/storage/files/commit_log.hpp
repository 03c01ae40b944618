// The write-ahead log of a store, called the commit log: all commits, in their order, until RocksDB
// has written their records to table files.
//
// RocksDB's own log is not used: a call of RocksDB for each group of commits takes most of the time
// of a commit, even if the records are not inserted into a memtable. See
// docs/decisions/0066-a-commit-log.md.
//
//     NUMBER.commits   a file of the log. The files have consecutive numbers. Records are appended
//                      to the last file that was started. An empty file with the next number can
//                      follow (prepare_next())
//     SYNCED_COMMITS   how much of the log is synced (log_recovery.hpp)
//
// A file has the format of RocksDB's logs (log_tail.hpp), and a record is a RocksDB write batch
// with all writes of a group of commits. Recovery may apply a record whose writes are already in
// table files: all later records are then applied again, too.
//
// A file is started while the previous one is not yet synced. Therefore, a sync includes all files
// with unsynced records, in their order. After a power failure, records of a later file can exist
// although earlier ones are missing; recovery does not read them. Such a loss is detected even if
// it leaves only complete records: each file begins with a record, the link, that contains the end
// of the last record of the files before it.
//
// After an error, all later calls of start(), prepare_next(), append() and sync() fail. The
// operating system reports the error of a sync only once, and a later sync of the same file would
// succeed without the data.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/file_system.h>

#include <rocklock/result.hpp>

#include "base/mutex.hpp"
#include "storage/files/log_recovery.hpp"

namespace rocklock {

// Threads:  sync(), written(), discarded(), number(), remove_before() and Pin are thread-safe.
//           prepare_next() can run during append() and sync(), but not during start(). The other
//           functions must be called by one thread at a time.
class CommitLog {
public:
    // The files are opened through `target`.
    explicit CommitLog(const std::shared_ptr<rocksdb::FileSystem>& target);
    CommitLog(const CommitLog&) = delete;
    CommitLog& operator=(const CommitLog&) = delete;
    ~CommitLog() = default;
    // Must be called before the destructor in a forked child of the process. Leaks the open files,
    // so that the child does not use them.
    void abandon();

    using Apply = std::function<rocksdb::Status(std::string_view record)>;
    // Describes how a log is read.
    struct Reading {
        // The directory of the files.
        std::string directory;
        // The key of the sync marks.
        std::uint64_t key = 0;
        LogEnd end = LogEnd::whole;
        // The number of the first file to read.
        std::uint64_t first = 1;
        // The position at which to stop, which must be the end of a record; nullopt reads the whole
        // log.
        std::optional<SyncMark> until = std::nullopt;
        // Whether another process can delete files meanwhile, because the store is shared.
        bool shared = false;
    };
    // The result of reading a log.
    struct Extent {
        // The smallest number of a file that exists, or the number of the first file to read if
        // this is smaller.
        std::uint64_t oldest = 1;
        // The number of the last file that exists, or 0 if there is none.
        std::uint64_t last = 0;
        // Whether the last file contains no bytes.
        bool last_is_empty = false;
        // The end of the last record that was read. The number is 0 if there was none.
        SyncMark end;
        // If bytes at the end were discarded: the position of the first of them.
        std::optional<SyncMark> cut = std::nullopt;
    };
    // Reads the records of the log in their order, and calls `apply` for each. If RocksDB can write
    // the applied records to table files, the log must be synced before (LogSync): these must not
    // contain what a power failure can remove from the log. Errors: Corruption if synced records,
    // or files, are missing or damaged; NotFound if a file was deleted meanwhile; read errors; the
    // errors of `apply`.
    rocksdb::Status read(const Reading& reading, const Apply& apply, Extent& extent);
    std::uint64_t discarded() const { return recovery_.discarded(); }

    // Prepares appending to a log that was synced and read: removes what was discarded,
    // deletes the files before the first one that was read, and opens SYNCED_COMMITS. Returns the
    // number for start(), which must be called next. Errors: as system_error().
    Result<std::uint64_t> open(const Reading& reading, const Extent& extent);
    // Starts the file with this number.
    rocksdb::Status start(std::uint64_t number);
    // Creates the file after the current one and syncs its entry in the directory, so that start()
    // and the next sync() do not have to. Does nothing if the entry of the current file is not
    // synced. If the file cannot be created, start() creates it. Errors: those of the sync, after
    // which the log fails.
    rocksdb::Status prepare_next();
    std::uint64_t number() const { return number_; }
    // The number of bytes in the current file.
    std::uint64_t bytes() const { return bytes_; }

    // Returns the sync mark to include in the next record, or null if there is no new one.
    const std::string* sync_mark();
    // Appends a record to the current file. After an error, the file may contain a part of it.
    // Errors: NotSupported if no file was started; write errors.
    rocksdb::Status append(std::string_view record);
    // Syncs all records that were appended before the call. After an error, they may be lost, and
    // the store must fail.
    rocksdb::Status sync();
    // Returns the end of the last record that was appended.
    SyncMark written() const { return recovery_.written(); }
    // Deletes the files with smaller numbers, unless a Pin exists. The next call, or the next open,
    // deletes those that were kept. Ignores errors: the files are not read again.
    void remove_before(std::uint64_t number);

    // While it exists, no new call of remove_before() deletes files. A call that is already running
    // may continue.
    class Pin {
    public:
        explicit Pin(CommitLog& log);
        Pin(const Pin&) = delete;
        Pin& operator=(const Pin&) = delete;
        ~Pin();

    private:
        CommitLog& log_;
    };

private:
    using File = std::shared_ptr<rocksdb::FSWritableFile>;
    class RecordReader;

    rocksdb::Status read_file(const Reading& reading, std::uint64_t number, const Apply& apply,
                              Extent& extent);
    // Applies the records of one file.
    rocksdb::Status apply_file(const Reading& reading, std::uint64_t number, RecordReader& records,
                               const Apply& apply, Extent& extent);
    rocksdb::Status damaged_at(const SyncMark& position) const;
    // Called if the first record of file `number` does not follow the last one that was read.
    // Returns Corruption, or sets `extent.cut`.
    rocksdb::Status judge_lost_end(const Reading& reading, std::uint64_t number, Extent& extent);
    rocksdb::Status create(std::uint64_t number, std::unique_ptr<rocksdb::FSWritableFile>& file);
    rocksdb::Status sync_directory();
    rocksdb::Status sync_files() ROCKLOCK_REQUIRES(syncing_);
    // Records the status in `failure_` if it is the first error. Returns the status.
    rocksdb::Status noted(rocksdb::Status status) ROCKLOCK_EXCLUDES(mutex_);
    rocksdb::Status failure() ROCKLOCK_EXCLUDES(mutex_);
    std::string path_of(std::uint64_t number) const;

    LogRecovery recovery_{LogKind::commits};
    const std::shared_ptr<rocksdb::FileSystem> files_;
    std::string directory_;
    std::uint64_t key_ = 0;
    std::string mark_;
    // The record with its headers.
    std::string framed_;
    std::atomic<std::uint64_t> number_{0};
    std::uint64_t bytes_ = 0;
    // The end of the last record of the log.
    SyncMark end_;
    // The file to which records are appended; the last of `unsynced_`.
    File current_;

    // Held during a sync, so that each sync sees the errors of the earlier ones. Locked before
    // `mutex_`.
    Mutex syncing_;
    Mutex mutex_;
    // The first error of start(), prepare_next(), append() or sync().
    rocksdb::Status failure_ ROCKLOCK_GUARDED_BY(mutex_);
    std::atomic<bool> failed_{false};
    // The files that may contain unsynced records.
    std::vector<File> unsynced_ ROCKLOCK_GUARDED_BY(mutex_);
    // The file after the current one, if it is prepared. Its entry in the directory is synced.
    File next_ ROCKLOCK_GUARDED_BY(mutex_);
    // Whether the entry of a file in the directory may not be synced.
    bool new_file_ ROCKLOCK_GUARDED_BY(mutex_) = false;
    // The smallest number of a file that may exist.
    std::uint64_t oldest_ ROCKLOCK_GUARDED_BY(mutex_) = 1;
    int pins_ ROCKLOCK_GUARDED_BY(mutex_) = 0;
};

// Returns whether the directory contains SYNCED_COMMITS or a file of a commit log.
bool has_commit_log(const std::string& directory);
// Returns the smallest number of a file of the commit log in the directory, or nullopt if there is
// no file or if the directory cannot be read.
std::optional<std::uint64_t> oldest_commit_log(const std::string& directory);

}  // namespace rocklock
