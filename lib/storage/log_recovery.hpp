// How far the logs of a store are synced: recorded while they are written, judged when they are
// recovered.
//
//     commit ── sync ── commit with a mark ── sync ── commit with a mark ── …      sync_marks.hpp
//                       │                             │
//                       └ all before it is synced     └ all before it is synced
//
// At recovery, damage before the last known sync is corruption: a power cut cannot cause it. Damage
// after it may be a write that was torn. RocksDB then recovers the log up to the damage, and the
// bytes that it leaves out are counted.
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

// The number in the file name of a log; nothing for other files.
std::optional<std::uint64_t> log_number(const std::string& path);

// Threads: thread-safe. begin(), end() and judge() are called by the thread that opens the store.
class LogRecovery {
public:
    // Logs that are read from now on are judged, until end(). `key` is that of the marks. If
    // `thorough`, all records are verified; else only a log that does not end cleanly is judged,
    // and RocksDB verifies the records.
    void begin(std::uint64_t key, bool thorough);
    void end() { active_ = false; }
    bool active() const { return active_; }

    // Before RocksDB replays the log at `path`. Errors: Corruption, if bytes are damaged or missing
    // that had been synced; those of reading.
    rocksdb::IOStatus judge(rocksdb::FileSystem& files, const std::string& path, bool clean);

    // How many bytes at the end of the logs the recovery left out.
    std::uint64_t discarded() const { return discarded_; }

    // A log was synced up to `bytes`.
    void synced(std::uint64_t log, std::uint64_t bytes);
    // The mark for the next commit; nothing if no sync was completed since the last one.
    std::optional<SyncMark> take_mark();

private:
    struct Evidence {
        // How far the log is known to be synced.
        std::uint64_t synced = 0;
        // A later log has marks: it was begun after this one had been synced completely.
        bool all = false;
    };

    rocksdb::IOStatus collect(rocksdb::FileSystem& files, const std::string& path,
                              std::string_view log, Evidence& evidence) const;

    std::atomic<bool> active_{false};
    std::uint64_t key_ = 0;
    bool thorough_ = false;
    // A log was cut: nothing in later ones is replayed.
    bool cut_ = false;
    std::atomic<std::uint64_t> discarded_{0};

    Mutex mutex_;
    SyncMark synced_ ROCKLOCK_GUARDED_BY(mutex_);
    bool fresh_ ROCKLOCK_GUARDED_BY(mutex_) = false;
};

}  // namespace rocklock
