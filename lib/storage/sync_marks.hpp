// Marks in RocksDB's logs that state how much of a log is known to be synced.
//
// The first commit after a sync carries a mark: "log N was synced up to byte X when this was
// written". A mark is log data of a write batch (WriteBatch::PutLogData), which RocksDB stores in
// the log and otherwise ignores, so it needs no write and no sync of its own. On recovery a mark
// that follows a damaged record distinguishes damage from a torn write: bytes before X had been
// synced, so a power failure cannot have destroyed them.
//
// A mark begins with a key that is derived from the identity of the database and that clients
// cannot know. So a value that a client stores is never taken for a mark, and marks can be found
// even in bytes in which the boundaries of the records are lost.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rocklock {

struct SyncMark {
    // The number of the log, which is its file name.
    std::uint64_t log = 0;
    // The number of bytes from its beginning that are synced.
    std::uint64_t bytes = 0;
    bool operator==(const SyncMark&) const = default;
};

// Returns the key of the marks. `identity` is the content of the file IDENTITY of the database.
std::uint64_t sync_mark_key(std::string_view identity);

// Writes the bytes of a mark to `out`, and reuses its memory.
void encode_sync_mark(std::uint64_t key, const SyncMark& mark, std::string& out);

// Returns the mark at the beginning of `bytes`, or nullopt if there is none.
std::optional<SyncMark> decode_sync_mark(std::uint64_t key, std::string_view bytes);

// Returns all marks in the bytes of one log, even if parts of it are damaged.
std::vector<SyncMark> find_sync_marks(std::uint64_t key, std::string_view log);

struct LogExtent {
    // The end of the last complete record before the first damage.
    std::uint64_t intact = 0;
    // The end of the last byte that is not zero, or `intact` if that is greater.
    std::uint64_t written = 0;
    // The number of bytes after `intact` that hold data: those up to `written`, without
    // preallocated zeros at their beginning.
    std::uint64_t discarded = 0;
};

// Verifies the checksums of a log's records from the beginning, and returns how far they are
// intact.
LogExtent measure_log(std::string_view log);

}  // namespace rocklock
