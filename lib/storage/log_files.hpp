// RocksDB's logs, adapted for frequent syncs.
//
// If a sync follows an append, the file system must also write metadata, for the new length and the
// new blocks: an fdatasync after appending 200 bytes takes 1.5 times as long as one after
// overwriting 200 bytes. So a log that is synced often is extended with zeros in advance, and its
// records overwrite the zeros.
//
// A new log is created only after the previous one is synced. So a power failure preserves a prefix
// of the unsynced records, and no record after a missing one.
//
// log_tail.hpp explains how a reader deals with the zeros.
#pragma once

#include <memory>

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include "storage/log_recovery.hpp"

namespace rocklock {

// Returns the environment of one store. It must outlive the database. All other operations are
// passed to `target`. `recovery` is notified of appended bytes and judges the logs that are read;
// it must outlive the result.
std::unique_ptr<rocksdb::Env> make_log_env(
    LogRecovery& recovery,
    const std::shared_ptr<rocksdb::FileSystem>& target = rocksdb::FileSystem::Default());

}  // namespace rocklock
