// A store of RocksDB that is a copy of another store, for the copies of a store on etcd.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <rocklock/clock.hpp>
#include <rocklock/result.hpp>
#include <rocklock/storage/storage.hpp>

namespace rocklock {

// The key of the record in the family `meta` by which a copy is recognized. open_rocksdb_storage()
// refuses a store with this record, because a copy does not contain the later changes of the other
// store. The first value of the record is its version 0.
inline constexpr std::string_view copy_key = "etcd copy";

// As open_rocksdb_storage() with the default options, for a copy. A new copy contains only the
// record. Errors: also not_a_store, if the directory contains a store that is not a copy
Result<std::unique_ptr<Storage>> open_rocksdb_copy(const std::string& directory, Clock& clock);

}  // namespace rocklock
