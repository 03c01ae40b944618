// Records how far the logs of a store are synced. At recovery, uses this record to judge whether
// damage in a log can be the result of a power failure.
//
//     commit ── sync ── commit with a mark ── sync ── commit with a mark ── …      sync_marks.hpp
//                       │                             │
//                       └ all before it is synced     └ all before it is synced
//
// If a log was cut short, its last marks are lost. Therefore, the newest mark is also written to
// the mark file in the directory of the logs, which is overwritten after each sync. The mark file
// is SYNCED_LOG or SYNCED_COMMITS, depending on the kind of the logs. It is not synced. After a
// power failure it may contain an older mark, which is still true.
//
// At recovery, damage before the last known sync is corruption, because a power failure cannot
// cause it. Damage after it may be a torn write. The reader, RocksDB or CommitLog, then recovers
// the log up to the damage, and the discarded bytes are counted.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/file_system.h>

#include <rocklock/result.hpp>

#include "base/mutex.hpp"
#include "storage/files/log_tail.hpp"
#include "storage/files/sync_marks.hpp"

namespace rocklock {

// The logs of a store. Both kinds have the format of RocksDB's logs.
enum class LogKind : std::uint8_t {
    // RocksDB's own log, "NUMBER.log". It contains the last commits of a store that was last used
    // by a version without a commit log.
    rocksdb,
    // The commit log, "NUMBER.commits"; see commit_log.hpp.
    commits,
};

// The damage at the end of a log that is tolerated when the store is opened.
enum class LogEnd : std::uint8_t {
    // The process was killed, but the machine kept running. Only the last record of the log can be
    // incomplete. Damage anywhere else means that bytes are lost which were reported as written.
    killed,
    // After a power failure, the unsynced end of the log may be damaged in any way. The log is read
    // up to the damage.
    power_cut,
    // No damage is tolerated.
    whole,
};

// Returns the end of the file names of these logs.
std::string_view suffix_of(LogKind kind);
// Returns the number in the file name of a log of this kind, or nullopt for any other file.
std::optional<std::uint64_t> log_number(std::string_view path, LogKind kind = LogKind::rocksdb);

// Threads: thread-safe. begin(), end(), judge() and cut() are called by one thread at a time, and
// so are appended() and completed().
class LogRecovery {
public:
    explicit LogRecovery(LogKind kind = LogKind::rocksdb) : kind_(kind) {}
    LogRecovery(const LogRecovery&) = delete;
    LogRecovery& operator=(const LogRecovery&) = delete;
    ~LogRecovery();

    // From now on until end(), judge() examines each log that is read. `key` is the key of
    // the sync marks, and `directory` contains the logs. If `thorough` is true, judge() verifies
    // all records. Otherwise, it verifies only the logs that do not end with a complete record, and
    // those that are shorter than the mark file states. The reader verifies the other logs. Errors:
    // corrupt if a synced log is missing; io_error.
    Result<void> begin(std::uint64_t key, const std::string& directory, bool thorough);
    void end() { active_ = false; }
    LogKind kind() const { return kind_; }
    bool active() const { return active_; }

    // Called before the reader replays the log at `path`. `tail` describes the end of this log.
    // Errors: Corruption if synced bytes are damaged or missing; read errors.
    rocksdb::IOStatus judge(rocksdb::FileSystem& files, const std::string& path,
                            const LogTail& tail);

    // Whether the mark file states that a log with a greater number was synced.
    bool states_later_than(std::uint64_t log) const { return last_run_.log > log; }
    // Called if the reader does not read this log and the later ones, although they are not
    // damaged. `bytes` bytes of this log are discarded; judge() counts those of the later ones.
    void cut(std::uint64_t bytes) {
        cut_ = true;
        discarded_ += bytes;
    }
    // Returns the number of bytes at the end of the logs that were discarded since begin().
    std::uint64_t discarded() const { return discarded_; }

    // From now on, writes each mark to the mark file in `directory`. `key` is the key of the marks.
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
        // Whether the whole log is known to be synced. In the commit log, a mark of a later log
        // proves this. In RocksDB's logs, any mark in a later log proves it, because a log is
        // created only after the previous one was synced.
        bool all = false;
    };

    rocksdb::IOStatus collect(rocksdb::FileSystem& files, const std::string& path,
                              std::string_view log, Evidence& evidence) const;
    Evidence stated(std::uint64_t log) const;

    const LogKind kind_;
    std::atomic<bool> active_{false};
    std::uint64_t key_ = 0;
    // The mark that the mark file contained when the store was opened.
    SyncMark last_run_;
    bool thorough_ = false;
    // Whether a log was cut at its damage. If so, later logs are not replayed.
    bool cut_ = false;
    std::atomic<std::uint64_t> discarded_{0};

    mutable Mutex mutex_;
    SyncMark appended_ ROCKLOCK_GUARDED_BY(mutex_);
    SyncMark written_ ROCKLOCK_GUARDED_BY(mutex_);
    SyncMark synced_ ROCKLOCK_GUARDED_BY(mutex_);
    // The descriptor of the mark file, or -1 if the file is not open. The next members are the key
    // of its marks, and a buffer for the bytes of a mark.
    int file_ ROCKLOCK_GUARDED_BY(mutex_) = -1;
    std::uint64_t file_key_ ROCKLOCK_GUARDED_BY(mutex_) = 0;
    std::string bytes_ ROCKLOCK_GUARDED_BY(mutex_);
    bool fresh_ ROCKLOCK_GUARDED_BY(mutex_) = false;
};

}  // namespace rocklock
