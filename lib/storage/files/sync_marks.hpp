// Marks in RocksDB's logs and in the commit log. A mark states how many bytes of a log are known to
// be synced.
//
// The first commit after a sync contains a mark: "when this was written, log N was synced up to
// byte X". A mark is log data of a write batch (WriteBatch::PutLogData), which RocksDB stores in
// the log and otherwise ignores. Therefore, a mark needs no write and no sync of its own.
//
// At recovery, a mark after a damaged record shows whether the damage is corruption or a torn
// write. The bytes before X had been synced, so a power failure cannot have destroyed them.
//
// A mark begins with a key. The key is derived from the identity of the database, and clients
// cannot know it. Therefore, a value that a client stores is never mistaken for a mark. Marks can
// be found even if the boundaries of the records are lost.
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
    // The number of bytes from the beginning of the log that are synced.
    std::uint64_t bytes = 0;
    bool operator==(const SyncMark&) const = default;
};

// Returns the key of the marks. `identity` is the content of the file IDENTITY of the database. A
// newline at its end is ignored.
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
    // The number of bytes from `intact` to `written`, not counting preallocated zeros at the
    // beginning of this range.
    std::uint64_t discarded = 0;
};

// Verifies the checksums of the records of a log from its beginning, and returns how far the
// records are intact.
LogExtent measure_log(std::string_view log);

}  // namespace rocklock
