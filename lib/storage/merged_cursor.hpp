// A cursor over the merged records of several cursors, in which newer records hide older ones.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <rocklock/storage/storage.hpp>

namespace rocklock {

enum class ScanDirection : std::uint8_t { ascending, descending };

// Returns a cursor over the records of `newer` and `oldest`. The cursors must be over the same
// range and family, must iterate in `direction`, and must not have been moved. Those in `newer` are
// ordered from the newest to the oldest; `oldest` must not be null.
//
// If several cursors contain a key, the result contains only the record of the newest of them. If
// this record is in one of `newer` and its value is empty, the key is deleted, and the result does
// not contain it.
//
// If a cursor fails, the result ends at once, and its status() is the error: a later record of the
// other cursors could be out of order, or could be deleted. If the cursors in `newer` contain no
// records, returns `oldest` itself.
//
// Threads:  as Snapshot::Cursor.
// Lifetime: as the given cursors, which must be destroyed before their snapshots.
std::unique_ptr<Snapshot::Cursor> merge_cursors(
    std::vector<std::unique_ptr<Snapshot::Cursor>> newer, std::unique_ptr<Snapshot::Cursor> oldest,
    ScanDirection direction);

}  // namespace rocklock
