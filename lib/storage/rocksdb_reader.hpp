// Reads the store on disk, from its current state or from a snapshot.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <rocksdb/options.h>
#include <rocksdb/status.h>

#include <rocklock/storage/storage.hpp>

#include "storage/group_commit.hpp"
#include "storage/rocksdb_database.hpp"

namespace rocklock {

// Reads from a snapshot or the current state. If a read finds corruption in the lock state, the
// whole store fails. If it finds corruption in another family, only the read fails.
//
// Threads:  thread-safe.
// Lifetime: `database` and `group` must outlive the reader.
class RocksdbReader {
public:
    RocksdbReader(const RocksdbDatabase& database, GroupCommit& group)
        : database_(database), group_(group) {}

    Result<std::optional<std::string>> get(const rocksdb::ReadOptions& options, Family family,
                                           std::string_view key) const;
    // Reads only data in memory, and never a file.
    CachedValue get_cached(Family family, std::string_view key, std::size_t max_bytes) const;

    Error report(const rocksdb::Status& status, Family family) const;

    const RocksdbDatabase& database() const { return database_; }

private:
    const RocksdbDatabase& database_;
    GroupCommit& group_;
};

// Returns a snapshot of the current state. `reader` must outlive it.
std::unique_ptr<Snapshot> make_rocksdb_snapshot(const RocksdbReader& reader);
// Returns a snapshot for a forked child process. Every read of this snapshot fails with `error`.
std::unique_ptr<Snapshot> make_no_snapshot(Error error);

}  // namespace rocklock
