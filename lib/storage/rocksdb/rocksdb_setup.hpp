// The options and families with which Rocklock uses RocksDB, and the conversion of RocksDB's
// errors.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/options.h>

#include <rocklock/storage/storage.hpp>

#include "storage/files/log_recovery.hpp"

namespace rocklock {

class StoreDirectory;

inline constexpr std::array<const char*, family_count> family_names = {"meta", "items", "index",
                                                                       "locks", "history"};

Error to_error(const rocksdb::Status& status);
// Returns the error of a failed open. In an existing store, a missing file means corruption.
Error to_open_error(const rocksdb::Status& status, const StoreDirectory& directory);
// If the error reports corruption, adds the path of the damaged store to its message.
Error about_damage(Error error, const StoreDirectory& directory);

// Returns the options. `env` must outlive the database.
rocksdb::DBOptions database_options(const RocksdbOptions& options, bool creating, LogEnd log_end,
                                    rocksdb::Env& env);
// Returns the descriptors of the default family and of the families of the store. The families of
// locks and history use universal compaction, with triggers of their own for compaction and for
// slowing and stopping writes. All other options are the same for all families.
std::vector<rocksdb::ColumnFamilyDescriptor> family_descriptors(const RocksdbOptions& options);

}  // namespace rocklock
