// Reads the store on disk, from its current state or from a snapshot: the records that are not in
// RocksDB yet, and then RocksDB.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <rocksdb/options.h>
#include <rocksdb/status.h>

#include <rocklock/storage/storage.hpp>

#include "base/mutex.hpp"
#include "storage/group_commit.hpp"
#include "storage/record_buffer.hpp"
#include "storage/rocksdb/rocksdb_database.hpp"

namespace rocklock {

// The records that are in the commit log, but not in RocksDB yet.
struct UnflushedRecords {
    bool contains(Family family) const { return every_family || family == Family::locks; }

    // Held while a commit with records in the buffer becomes visible, while the draining part of
    // the buffer changes, and while a snapshot of the buffer and of RocksDB is taken.
    Mutex publishing;
    RecordBuffer buffer;
    // Whether the records of all families are in the buffer, because the store is read-only.
    // Otherwise, only those of `locks` are: they are written more often than they are read. Set
    // before the first commit.
    bool every_family = false;
};

// Reads from a snapshot or the current state. If a read finds corruption in the lock state, the
// whole store fails. If it finds corruption in another family, only the read fails.
//
// Threads:  thread-safe.
// Lifetime: the arguments of the constructor must outlive the reader.
class RocksdbReader {
public:
    RocksdbReader(const RocksdbDatabase& database, UnflushedRecords& unflushed, GroupCommit& group)
        : database_(database), unflushed_(unflushed), group_(group) {}

    Result<std::optional<std::string>> get(Family family, std::string_view key) const;
    // Reads only RocksDB.
    Result<std::optional<std::string>> get_flushed(const rocksdb::ReadOptions& options,
                                                   Family family, std::string_view key) const;
    // Reads only data in memory, and never a file.
    CachedValue get_cached(Family family, std::string_view key, std::size_t max_bytes) const;

    Error report(const rocksdb::Status& status, Family family) const;

    const RocksdbDatabase& database() const { return database_; }
    UnflushedRecords& unflushed() const { return unflushed_; }

private:
    const RocksdbDatabase& database_;
    UnflushedRecords& unflushed_;
    GroupCommit& group_;
};

// Returns a snapshot of the current state. `reader` must outlive it.
std::unique_ptr<Snapshot> make_rocksdb_snapshot(const RocksdbReader& reader);
// Returns a snapshot for a forked child process. Every read of this snapshot fails with `error`.
std::unique_ptr<Snapshot> make_no_snapshot(Error error);

}  // namespace rocklock
