// How Rocklock sets RocksDB up: its options and families, and its errors in our words.
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

namespace rocklock {

class StoreDirectory;

inline constexpr std::array<const char*, family_count> family_names = {"meta", "items", "index",
                                                                       "locks", "history"};

Error to_error(const rocksdb::Status& status);
// The same of an open that failed, which says more: the files are there, and one that is not was
// lost.
Error to_open_error(const rocksdb::Status& status, const StoreDirectory& directory);

// How much of a log that ends in damage may be given up.
enum class LogEnd : std::uint8_t {
    // As long as the machine runs, nothing but the very last record can be incomplete, because the
    // process was killed in the midst of it; damage anywhere else would be bytes once promised and
    // now lost.
    killed,
    // After a power cut the end of the log, which was never synced, may be damaged in any way: read
    // up to there.
    power_cut,
    // Nothing: every byte must be right.
    whole,
};

// `env` outlives the database.
rocksdb::DBOptions database_options(const RocksdbOptions& options, bool creating, LogEnd log_end,
                                    rocksdb::Env& env);
// For the default family and ours, which have the same options.
std::vector<rocksdb::ColumnFamilyDescriptor> family_descriptors(const RocksdbOptions& options);

}  // namespace rocklock
