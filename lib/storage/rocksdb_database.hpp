// A RocksDB database with the families of a store, its logs and the sync marks of the logs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/env.h>

#include <rocklock/result.hpp>
#include <rocklock/storage/storage.hpp>

#include "base/assert.hpp"
#include "base/fork.hpp"
#include "storage/compaction_damage.hpp"
#include "storage/files/log_files.hpp"
#include "storage/files/log_recovery.hpp"

namespace rocklock {

class SpaceReserve;
class StoreDirectory;

// Threads:  as for rocksdb::DB, except for open() and sync_mark().
// Lifetime: in a child of the process, the destructor does not use the files and the threads of the
//           database.
class RocksdbDatabase {
public:
    // `reserve` must outlive the database.
    explicit RocksdbDatabase(SpaceReserve& reserve);
    RocksdbDatabase(const RocksdbDatabase&) = delete;
    RocksdbDatabase& operator=(const RocksdbDatabase&) = delete;
    ~RocksdbDatabase();

    // Must be called first. `same_boot` states whether the machine has kept running since the last
    // open. Errors: as open_rocksdb_storage().
    Result<void> open(const StoreDirectory& directory, const RocksdbOptions& options,
                      bool same_boot);

    // Returns the sync mark for the next commit, or null if there is no new mark. Threads: one at a
    // time.
    const std::string* sync_mark() const;
    // Must be called after each successful write to the database, by the thread that writes.
    // `synced` states whether the write was also synced.
    void completed(bool synced) const;
    // Syncs the logs. Threads: thread-safe, also during writes.
    rocksdb::Status sync() const;
    std::uint64_t discarded_log_bytes() const { return recovery_.discarded(); }

    rocksdb::DB& operator*() const { return *db_; }
    rocksdb::DB* operator->() const { return db_.get(); }
    rocksdb::ColumnFamilyHandle* family(Family family) const {
        ROCKLOCK_ASSERT(handles_.size() == family_count + 1);
        return handles_[static_cast<std::size_t>(family) + 1];
    }
    const std::vector<rocksdb::ColumnFamilyHandle*>& families() const { return handles_; }

private:
    Result<void> keep_marks(const StoreDirectory& directory);

    ForkCheck fork_check_;
    mutable LogRecovery recovery_;
    std::uint64_t mark_key_ = 0;
    mutable std::string mark_;
    std::shared_ptr<CompactionDamage> damage_ = std::make_shared<CompactionDamage>();
    std::unique_ptr<rocksdb::Env> env_;
    std::unique_ptr<rocksdb::DB> db_;
    std::vector<rocksdb::ColumnFamilyHandle*> handles_;
};

}  // namespace rocklock
