// Records how far the logs of a store are synced, and uses this to judge the logs at recovery.
//
//     commit ── sync ── commit with a mark ── sync ── commit with a mark ── …      sync_marks.hpp
//                       │                             │
//                       └ all before it is synced     └ all before it is synced
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

#include "base/mutex.hpp"
#include "storage/sync_marks.hpp"

namespace rocklock {

// Returns the number in the file name of a log, or nullopt if the file is not a log.
std::optional<std::uint64_t> log_number(const std::string& path);

// Threads: thread-safe. begin(), end() and judge() are called by the thread that opens the store.
class LogRecovery {
public:
    // From now on until end(), logs are judged when they are read. `key` is the key of the sync
    // marks. If `thorough` is true, all records are verified. Otherwise only a log without a clean
    // end is judged, and RocksDB verifies the records.
    void begin(std::uint64_t key, bool thorough);
    void end() { active_ = false; }
    bool active() const { return active_; }

    // Called before RocksDB replays the log at `path`. Errors: Corruption if synced bytes are
    // damaged or missing; read errors.
    rocksdb::IOStatus judge(rocksdb::FileSystem& files, const std::string& path, bool clean);

    // Returns how many bytes at the end of the logs recovery has discarded.
    std::uint64_t discarded() const { return discarded_; }

    // Records that a log is synced up to `bytes`.
    void synced(std::uint64_t log, std::uint64_t bytes);
    // Returns the mark for the next commit, or nullopt if no sync was completed since the last
    // mark.
    std::optional<SyncMark> take_mark();

private:
    struct Evidence {
        // The number of bytes of the log that are known to be synced.
        std::uint64_t synced = 0;
        // Whether a later log contains marks. Such a log was created after this one had been synced
        // completely.
        bool all = false;
    };

    rocksdb::IOStatus collect(rocksdb::FileSystem& files, const std::string& path,
                              std::string_view log, Evidence& evidence) const;

    std::atomic<bool> active_{false};
    std::uint64_t key_ = 0;
    bool thorough_ = false;
    // Whether a log was cut at its damage. Later logs are then not replayed.
    bool cut_ = false;
    std::atomic<std::uint64_t> discarded_{0};

    Mutex mutex_;
    SyncMark synced_ ROCKLOCK_GUARDED_BY(mutex_);
    bool fresh_ ROCKLOCK_GUARDED_BY(mutex_) = false;
};

}  // namespace rocklock
