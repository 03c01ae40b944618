// Records how far the logs of a store are synced. At recovery, uses this record to judge whether
// damage in a log can be the result of a power failure.
//
//     commit ── sync ── commit with a mark ── sync ── commit with a mark ── …      sync_marks.hpp
//                       │                             │
//                       └ all before it is synced     └ all before it is synced
//
// If a log was cut short, its last marks are lost. Therefore, the newest mark is also written to
// the file SYNCED_LOG in the directory of the logs, which is overwritten after each sync.
// SYNCED_LOG itself is not synced. After a power failure it may contain an older mark, which is
// still true.
//
// At recovery, damage before the last known sync is corruption, because a power failure cannot
// cause it. Damage after it may be a torn write. RocksDB then recovers the log up to the damage,
// and the discarded bytes are counted.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rocksdb/file_system.h>

#include <rocklock/result.hpp>

#include "base/mutex.hpp"
#include "storage/files/log_tail.hpp"
#include "storage/files/sync_marks.hpp"

namespace rocklock {

// Returns the number in the file name of a log, or nullopt if the file is not a log.
std::optional<std::uint64_t> log_number(const std::string& path);

// Threads: thread-safe. begin(), end() and judge() are called by the thread that opens the store,
// appended() and completed() by one thread at a time.
class LogRecovery {
public:
    LogRecovery() = default;
    LogRecovery(const LogRecovery&) = delete;
    LogRecovery& operator=(const LogRecovery&) = delete;
    ~LogRecovery();

    // From now on until end(), judge() examines each log that RocksDB reads. `key` is the key of
    // the sync marks, and `directory` contains the logs. If `thorough` is true, judge() verifies
    // all records. Otherwise, it verifies only the logs that do not end with a complete record, and
    // those that are shorter than SYNCED_LOG states. RocksDB verifies the other logs. Errors:
    // corrupt if a synced log is missing; io_error.
    Result<void> begin(std::uint64_t key, const std::string& directory, bool thorough);
    void end() { active_ = false; }
    bool active() const { return active_; }

    // Called before RocksDB replays the log at `path`. `tail` describes the end of this log.
    // Errors: Corruption if synced bytes are damaged or missing; read errors.
    rocksdb::IOStatus judge(rocksdb::FileSystem& files, const std::string& path,
                            const LogTail& tail);

    // Returns the number of bytes at the end of the logs that recovery has discarded.
    std::uint64_t discarded() const { return discarded_; }

    // From now on, writes each mark to SYNCED_LOG in `directory`. `key` is the key of the marks.
    // Errors: as system_error().
    Result<void> keep_marks(std::uint64_t key, const std::string& directory);

    // Records that `bytes` bytes of a log were written. They may end within a record.
    void appended(std::uint64_t log, std::uint64_t bytes);
    // Records that the bytes appended so far end with a complete record.
    void completed();
    // Returns the end of the last complete record that was written.
    SyncMark written() const;
    // Records that a log is synced up to `mark`, which is the end of a record.
    void synced(const SyncMark& mark);
    // Returns the mark for the next commit, or nullopt if no sync was completed since the last
    // mark.
    std::optional<SyncMark> take_mark();

private:
    struct Evidence {
        // The number of bytes of the log that are known to be synced.
        std::uint64_t synced = 0;
        // Whether a later log contains marks. If so, this log is completely synced, because a log
        // is created only after the previous log was synced.
        bool all = false;
    };

    rocksdb::IOStatus collect(rocksdb::FileSystem& files, const std::string& path,
                              std::string_view log, Evidence& evidence) const;
    Evidence stated(std::uint64_t log) const;

    std::atomic<bool> active_{false};
    std::uint64_t key_ = 0;
    // The mark that SYNCED_LOG contained when the store was opened.
    SyncMark last_run_;
    bool thorough_ = false;
    // Whether a log was cut at its damage. If so, later logs are not replayed.
    bool cut_ = false;
    std::atomic<std::uint64_t> discarded_{0};

    mutable Mutex mutex_;
    SyncMark appended_ ROCKLOCK_GUARDED_BY(mutex_);
    SyncMark written_ ROCKLOCK_GUARDED_BY(mutex_);
    SyncMark synced_ ROCKLOCK_GUARDED_BY(mutex_);
    // The descriptor of SYNCED_LOG, or -1 if the file is not open. The next members are the key of
    // its marks, and a buffer for the bytes of a mark.
    int file_ ROCKLOCK_GUARDED_BY(mutex_) = -1;
    std::uint64_t file_key_ ROCKLOCK_GUARDED_BY(mutex_) = 0;
    std::string bytes_ ROCKLOCK_GUARDED_BY(mutex_);
    bool fresh_ ROCKLOCK_GUARDED_BY(mutex_) = false;
};

}  // namespace rocklock
