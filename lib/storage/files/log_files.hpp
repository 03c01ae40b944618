// Adapts logs in RocksDB's format for frequent syncs.
//
// In a sync after an append, the file system must also write metadata for the new length and the
// new blocks of the file. An fdatasync after appending 200 bytes takes 1.5 times as long as an
// fdatasync after overwriting 200 bytes. Therefore, a log that is synced often is extended with
// zeros in advance, and its records overwrite the zeros.
//
// A new log of RocksDB is created only after the previous one is synced. Therefore, after a power
// failure, no record exists that follows a missing one. The commit log syncs its files itself
// (commit_log.hpp).
//
// log_tail.hpp explains how a reader handles the zeros.
#pragma once

#include <memory>

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include "storage/files/log_recovery.hpp"

namespace rocklock {

// Returns a file system that opens logs of the kind `recovery.kind()` itself, and passes all other
// operations to `target`. As make_log_env() otherwise.
std::shared_ptr<rocksdb::FileSystem> make_log_files(
    LogRecovery& recovery, const std::shared_ptr<rocksdb::FileSystem>& target);

// Returns the environment of one store. It must outlive the database. It opens logs itself, and
// passes all other operations to `target`. `recovery` is notified of bytes that are appended to a
// log, and judges the logs that are read. `recovery` must outlive the result.
std::unique_ptr<rocksdb::Env> make_log_env(
    LogRecovery& recovery,
    const std::shared_ptr<rocksdb::FileSystem>& target = rocksdb::FileSystem::Default());

}  // namespace rocklock
