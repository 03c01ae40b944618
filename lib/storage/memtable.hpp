// The memtables of RocksDB: the entries that were written and are not yet in a file.
#pragma once

#include <memory>

#include <rocksdb/memtablerep.h>

namespace rocklock {

// Returns a factory of memtables that use an EntryList. They require the BytewiseComparator without
// timestamps, and one writer at a time (DBOptions::allow_concurrent_memtable_write is false).
std::shared_ptr<rocksdb::MemTableRepFactory> make_memtable_factory();

}  // namespace rocklock
