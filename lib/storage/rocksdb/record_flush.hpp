// Moves the records of a store from memory to RocksDB's table files. The part of the commit log
// that contains them is then not needed any more.
//
//     begin()    starts a new file of the commit log, and begins to drain the record buffer
//     finish()   copies the drained records to RocksDB; writes RocksDB's memory to table files,
//                with the number of that file of the log; deletes the older files of the log;
//                can create the next file of the log
//
// Commits continue between begin() and the end of finish().
#pragma once

#include <atomic>
#include <cstdint>

#include <rocksdb/status.h>

#include "base/mutex.hpp"
#include "storage/rocksdb/rocksdb_database.hpp"
#include "storage/rocksdb/rocksdb_reader.hpp"

namespace rocklock {

// Threads:  begin() must be called between two commits (RocksdbEngine locks a mutex), and finish()
//           by one thread at a time. The other functions are thread-safe.
// Lifetime: borrows the arguments of the constructor.
class RecordFlush {
public:
    RecordFlush(RocksdbDatabase& database, UnflushedRecords& unflushed)
        : database_(database), unflushed_(unflushed) {}
    RecordFlush(const RecordFlush&) = delete;
    RecordFlush& operator=(const RecordFlush&) = delete;

    UnflushedRecords& unflushed() const { return unflushed_; }
    // Starts a new file of the log and begins to drain the buffer. Sets `begun` to false if a flush
    // is already in progress, or after an error.
    rocksdb::Status begin(bool& begun);
    bool in_progress() const { return in_progress_.load(std::memory_order_acquire); }
    // Must be called after begin(). Does nothing if no flush is in progress. If `prepares_next` is
    // true, also creates the file of the log for the next flush. After an error, the store must
    // fail, and all later calls of begin() and finish() fail.
    rocksdb::Status finish(bool prepares_next);
    // Whether a flush has failed.
    bool failed() const { return failed_.load(); }
    // Waits until no flush is in progress.
    void wait() ROCKLOCK_EXCLUDES(mutex_);

private:
    rocksdb::Status copy_drained() const;
    void end_flush() ROCKLOCK_EXCLUDES(mutex_);

    RocksdbDatabase& database_;
    UnflushedRecords& unflushed_;
    // The first file of the log that is needed after the flush in progress.
    std::uint64_t first_log_ = 0;
    // Whether the flush in progress has a draining part.
    bool drains_ = false;
    std::atomic<bool> in_progress_{false};
    std::atomic<bool> failed_{false};
    Mutex mutex_;
    // Notified when a flush has ended.
    CondVar ended_;
};

}  // namespace rocklock
