// RocksDB's logs, made for being synced often.
//
// A file that grows has the file system write a record of its own with each sync, for the new
// length and the new blocks: an fdatasync of 200 bytes more takes half as long again as one of 200
// bytes that were there already. So a log that is synced has space laid out before it, written with
// zeros, and its records are written over them.
//
// A log is begun when the one before it is on the disk: of what was never synced a power cut leaves
// a beginning, and nothing from behind a part that is missing.
//
// Where zeros are met in a reading, see log_tail.hpp.
#pragma once

#include <memory>

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include "storage/log_recovery.hpp"

namespace rocklock {

// For one store; outlives its database. `target` does all the rest. `recovery` is told of syncs and
// judges the logs that are read; it outlives the result.
std::unique_ptr<rocksdb::Env> make_log_env(
    LogRecovery& recovery,
    const std::shared_ptr<rocksdb::FileSystem>& target = rocksdb::FileSystem::Default());

}  // namespace rocklock
