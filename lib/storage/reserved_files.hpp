// Files that take space from the reserve of disk space (space_reserve.hpp) while the disk is almost
// full.
//
// While the disk is almost full, the space for new bytes is allocated before a file is extended. If
// the disk has no space, the reserve is shortened by the number of new bytes. The allocation is
// then repeated immediately, so that another program has almost no time to take the space.
//
// The log, the manifest and the files of flushed memtables get space in this way. The files of
// compactions do not, because a compaction can be repeated later and could use up the whole
// reserve.
//
// The space of a deleted log is returned to the reserve. Therefore, the size of the reserve does
// not limit the number of bytes that can be written while the disk is full.
#pragma once

#include <memory>

#include <rocksdb/file_system.h>

namespace rocklock {

class SpaceReserve;

// Returns a file system for RocksDB whose files take space from `reserve`. `reserve` must outlive
// the result.
std::shared_ptr<rocksdb::FileSystem> make_reserved_files(SpaceReserve& reserve);

}  // namespace rocklock
