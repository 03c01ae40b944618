// The memtables of RocksDB: the entries that were written and are not yet in a file.
#pragma once

#include <memory>

#include <rocksdb/listener.h>
#include <rocksdb/memtablerep.h>

namespace rocklock {

// Returns a factory of memtables that use an EntryList. They require the BytewiseComparator without
// timestamps, and one writer at a time (DBOptions::allow_concurrent_memtable_write is false). With
// hints (memtable_insert_with_hint_prefix_extractor), DB::DeleteRange() must not be used: RocksDB
// 7.8 passes the hints of these memtables also to its own skip list of deleted ranges.
std::shared_ptr<rocksdb::MemTableRepFactory> make_memtable_factory();

// Returns a listener that makes the threads of RocksDB yield their processor often while they write
// these memtables to files.
std::shared_ptr<rocksdb::EventListener> make_flush_listener();

}  // namespace rocklock
