// Reads of the store on disk, from its current state or from a snapshot.
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
// store fails; in other families, only the read fails.
//
// Threads:  thread-safe.
// Lifetime: `database` and `group` must outlive it.
class RocksdbReader {
public:
    RocksdbReader(const RocksdbDatabase& database, GroupCommit& group)
        : database_(database), group_(group) {}

    Result<std::optional<std::string>> get(const rocksdb::ReadOptions& options, Family family,
                                           std::string_view key) const;
    // Never reads a file.
    CachedValue get_cached(Family family, std::string_view key, std::size_t max_bytes) const;

    Error report(const rocksdb::Status& status, Family family) const;

    const RocksdbDatabase& database() const { return database_; }

private:
    const RocksdbDatabase& database_;
    GroupCommit& group_;
};

// Returns a snapshot of the current state. `reader` must outlive it.
std::unique_ptr<Snapshot> make_rocksdb_snapshot(const RocksdbReader& reader);
// Returns the snapshot of a child process, in which every read fails with `error`.
std::unique_ptr<Snapshot> make_no_snapshot(Error error);

}  // namespace rocklock
