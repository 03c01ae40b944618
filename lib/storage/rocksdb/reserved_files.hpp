// Files that take space from the reserve of disk space (space_reserve.hpp) if the disk is full.
//
// The space for new bytes is allocated before a file is extended. If the disk has no space, the
// reserve is shortened by the number of new bytes. The allocation is then repeated immediately, so
// that another program has almost no time to take the space.
//
// The manifest and the files of flushed memtables always get space in this way. The log gets space
// in this way while the disk is almost full. The files of compactions never do, because a
// compaction can be repeated later and could use up the whole reserve. However, the free space is
// checked before each write of a compaction. If the compaction has almost filled the disk, the
// check notices it, and the log then takes space from the reserve.
//
// While the disk is almost full, the space of a deleted log is returned to the reserve, and the
// next log can use it again. Therefore, more bytes of the log than the size of the reserve can be
// written in this state.
//
// RocksDB's files of options (OPTIONS-*) are not written: no program reads them, and at each open
// RocksDB would write such a file, sync it twice, and parse it again, which takes a tenth of the
// time to open a small store.
#pragma once

#include <memory>

#include <rocksdb/file_system.h>

namespace rocklock {

class SpaceReserve;

// Returns a file system for RocksDB whose files take space from `reserve`. `reserve` must outlive
// the result.
std::shared_ptr<rocksdb::FileSystem> make_reserved_files(SpaceReserve& reserve);

}  // namespace rocklock
