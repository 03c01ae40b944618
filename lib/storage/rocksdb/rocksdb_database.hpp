// A RocksDB database with the families of a store, and the commit log of the store.
//
// The family `default` contains the key `commits` with the number of the first file of the commit
// log that is needed. It is absent until the first flush; the first file is then the file 1. A
// database without a commit log is a new one, or a copy, or was last used by a version without a
// commit log. In the last case, the last commits are in RocksDB's own log.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/env.h>

#include <rocklock/result.hpp>
#include <rocklock/storage/storage.hpp>

#include "base/assert.hpp"
#include "base/fork.hpp"
#include "storage/files/commit_log.hpp"
#include "storage/files/log_files.hpp"
#include "storage/files/log_recovery.hpp"
#include "storage/rocksdb/compaction_damage.hpp"

namespace rocklock {

class SpaceReserve;
class StoreDirectory;

// The key in the family `default`.
inline constexpr std::string_view first_log_key = "commits";

// Another thread already reads the commit log while RocksDB opens its files.
//
// Threads:  as for rocksdb::DB and CommitLog. open(), read_log() and open_log() are called by the
//           thread that opens the store.
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
    // open. `apply` is used until read_log() returns: it is called for each record of the commit
    // log, by one thread at a time. Errors: as open_rocksdb_storage().
    Result<void> open(StoreDirectory& directory, const RocksdbOptions& options, bool same_boot,
                      const CommitLog::Apply& apply);
    // For `apply`, which can be called before the functions for families and writes. is_opening()
    // returns whether these cannot be called yet; wait_until_open() waits until they can be called,
    // and returns false if the database cannot be opened.
    bool is_opening() const {
        return is_open_.wait_for(std::chrono::seconds(0)) == std::future_status::timeout;
    }
    bool wait_until_open() const { return is_open_.get(); }

    // Completes the reading of the commit log, if there is one. Must be called after each open()
    // that succeeds. If the log is read again from its first record, calls `restart` before.
    // Returns false if another process has removed files meanwhile, so that the database must be
    // opened again.
    Result<bool> read_log(const CommitLog::Apply& apply, const std::function<void()>& restart);
    // Starts a new file of the commit log. If an existing database has no commit log, first writes
    // everything to table files, including `format`, the record of the format of the store, so that
    // older versions refuse the store. Errors: as open_rocksdb_storage().
    Result<void> open_log(const std::vector<Write>& format);
    // Whether the store had a commit log when it was opened.
    bool has_log() const { return has_log_; }
    CommitLog& log() const { return log_; }
    // The part of the log that is needed now, for a copy.
    CommitLog::Reading log_until_now() const;

    // Writes without a log.
    rocksdb::Status write(rocksdb::WriteBatch& batch) const;
    // Writes everything to table files, and the number of the first file of the commit log that is
    // needed then, unless it is 0.
    rocksdb::Status flush(std::uint64_t first_log);
    std::uint64_t discarded_log_bytes() const { return recovery_.discarded() + log_.discarded(); }

    rocksdb::DB& operator*() const { return *db_; }
    rocksdb::DB* operator->() const { return db_.get(); }
    rocksdb::ColumnFamilyHandle* family(Family family) const {
        ROCKLOCK_ASSERT(handles_.size() == family_count + 1);
        return handles_[static_cast<std::size_t>(family) + 1];
    }
    const std::vector<rocksdb::ColumnFamilyHandle*>& families() const { return handles_; }

private:
    Result<void> open_database(const StoreDirectory& directory, const RocksdbOptions& options);
    Result<void> find_first_log();
    std::future<rocksdb::Status> start_reading_log(const CommitLog::Apply& apply);

    ForkCheck fork_check_;
    // Of RocksDB's own log.
    LogRecovery recovery_;
    const std::shared_ptr<rocksdb::FileSystem> files_;
    mutable CommitLog log_;
    CommitLog::Reading reading_;
    CommitLog::Extent extent_;
    bool existing_ = false;
    bool has_log_ = false;
    // Whether the database has the key `commits`.
    bool names_log_ = false;
    std::shared_future<bool> is_open_;
    // How the log is read before the database is open. A crash after a flush can leave files before
    // the first one that is needed, and RocksDB can have another identity than its file states.
    // `reads_early_` is then false, and read_log() reads the log again.
    CommitLog::Reading early_;
    bool reads_early_ = false;
    std::shared_ptr<CompactionDamage> damage_ = std::make_shared<CompactionDamage>();
    std::unique_ptr<rocksdb::Env> env_;
    std::unique_ptr<rocksdb::DB> db_;
    std::vector<rocksdb::ColumnFamilyHandle*> handles_;
    // The reading of the log that began before the database was open, from open() to read_log().
    // Not valid() if there is none.
    std::future<rocksdb::Status> early_reading_;
};

}  // namespace rocklock
