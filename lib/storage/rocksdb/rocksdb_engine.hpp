// Writes groups of commits to the commit log, and makes them visible in the record buffer and in
// RocksDB. Applies the records of the log when a store is opened.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/slice.h>
#include <rocksdb/status.h>
#include <rocksdb/write_batch.h>

#include <rocklock/histogram.hpp>
#include <rocklock/result.hpp>
#include <rocklock/storage/storage.hpp>

#include "base/mutex.hpp"
#include "base/timings.hpp"
#include "storage/group_commit.hpp"
#include "storage/recent_versions.hpp"
#include "storage/record_buffer.hpp"

namespace rocklock {

class FlushThread;
class RecordFlush;
class RocksdbDatabase;
class SpaceReserve;
class StoreDirectory;
struct UnflushedRecords;

// Threads:  begin_flush(), try_begin_flush(), sync() and sync_times() are thread-safe. The
//           functions for recovery are called by one thread at a time, before the first commit. For
//           the others, see Engine.
// Lifetime: the arguments of the constructor must outlive the engine.
class RocksdbEngine final : public Engine {
public:
    RocksdbEngine(const RocksdbDatabase& database, RecordFlush& flush, StoreDirectory& directory,
                  SpaceReserve& reserve, FlushThread& flush_thread);

    // Must be called before the first commit.
    void set_write_buffer(std::size_t bytes) { write_buffer_ = static_cast<double>(bytes); }
    // Begins a flush between two commits, unless one is in progress. Waits for a commit in
    // progress.
    rocksdb::Status begin_flush() ROCKLOCK_EXCLUDES(writing_);
    // As begin_flush(), but does nothing if a commit is in progress. For the flush thread, for
    // which such a commit may be waiting.
    rocksdb::Status try_begin_flush();

    // ---- Recovery ----

    // Applies a record of the commit log. While the database is not open, the writes to RocksDB are
    // postponed.
    rocksdb::Status apply(std::string_view record);
    // Must be called after the last record.
    rocksdb::Status apply_postponed();
    // Discards the records that were applied to the record buffer, and the postponed writes.
    void restart();

    // ---- Engine ----

    Result<std::optional<std::uint64_t>> version(Family family, std::string_view key) override;
    Result<void> write(std::span<Batch* const> batches, bool sync) override;
    Result<void> sync() override;
    bool syncs_concurrently() const override { return true; }
    void failed(const Error& error) override;

    // See Storage::congested().
    bool congested() const;
    Histogram sync_times() const { return syncs_.snapshot(); }

private:
    class LogRecord;
    // The writes of the log to RocksDB that were read while RocksDB was opening its files.
    struct Postponed {
        std::vector<Write> writes;
        std::size_t bytes = 0;
    };

    void begin_group();
    // Adds a write to `rest_` or `buffered_`.
    rocksdb::Status collect(Family family, std::string_view key,
                            std::optional<std::string_view> value);
    rocksdb::Status postpone_or_collect(Family family, std::string_view key,
                                        std::optional<std::string_view> value);
    rocksdb::Status collect_postponed();
    // Make the writes visible: those of the batches, or those in `rest_` and `buffered_`.
    rocksdb::Status publish(std::span<Batch* const> batches);
    rocksdb::Status publish();
    // Returns 1 if the buffer has reached a limit, and less if it has not.
    double fullness() const;
    rocksdb::Status begin_flush_if_full();
    void note(std::span<Batch* const> batches);

    const RocksdbDatabase& database_;
    UnflushedRecords& unflushed_;
    RecordFlush& flush_;
    StoreDirectory& directory_;
    SpaceReserve& reserve_;
    FlushThread& flush_thread_;
    double write_buffer_ = 0;
    // Held while a group is written or a flush begins, so that a flush begins between two groups.
    // Lock order: this mutex, UnflushedRecords::publishing, the mutexes of RecordBuffer and
    // CommitLog.
    Mutex writing_;
    rocksdb::WriteBatch group_;
    // The writes of the group to RocksDB, and those to the buffer, which borrow the group's memory.
    rocksdb::WriteBatch rest_;
    std::vector<RecordBuffer::Change> buffered_;
    Postponed postponed_;
    rocksdb::PinnableSlice value_;
    RecentVersions known_;
    // Whether the buffer was full at the last commit during a flush.
    std::atomic<bool> congested_{false};
    Timings syncs_;
};

}  // namespace rocklock
