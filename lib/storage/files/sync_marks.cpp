#include "storage/files/sync_marks.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "base/hmac.hpp"
#include "storage/files/log_tail.hpp"

namespace rocklock {
namespace {

constexpr std::size_t mark_bytes = 32;

std::uint64_t check_of(std::uint64_t key, const SyncMark& mark) {
    const std::uint64_t mixed = (mark.log ^ key) * 0xD6E8FEB86659FD93U;
    return (mixed ^ mixed >> 32 ^ mark.bytes) * 0x9E3779B97F4A7C15U;
}

// Returns the payloads of all blocks without the header at the beginning of each block. A record
// that does not fit into its block continues after the header of the next one, so that a mark
// within it is contiguous in the result.
std::string without_block_headers(std::string_view log) {
    std::string stream;
    stream.reserve(log.size());
    for (std::size_t at = 0; at < log.size(); at += LogTail::block_bytes) {
        const std::string_view block = log.substr(at, LogTail::block_bytes);
        stream += block.substr(std::min(block.size(), LogTail::header_bytes));
    }
    return stream;
}

}  // namespace

std::uint64_t sync_mark_key(std::string_view identity) {
    while (identity.ends_with('\n')) identity.remove_suffix(1);
    const auto digest = hmac_sha256(identity, "marks of synced logs");
    std::uint64_t key = 0;
    for (std::size_t i = 0; i < sizeof key; ++i) key = key << 8 | digest[i];
    return key;
}

void encode_sync_mark(std::uint64_t key, const SyncMark& mark, std::string& out) {
    out.clear();
    append_u64(out, key);
    append_u64(out, mark.log);
    append_u64(out, mark.bytes);
    append_u64(out, check_of(key, mark));
    ROCKLOCK_ASSERT(out.size() == mark_bytes);
}

std::optional<SyncMark> decode_sync_mark(std::uint64_t key, std::string_view bytes) {
    if (bytes.size() < mark_bytes) return std::nullopt;
    Reader reader(bytes);
    if (*reader.u64() != key) return std::nullopt;
    SyncMark mark;
    mark.log = *reader.u64();
    mark.bytes = *reader.u64();
    return *reader.u64() == check_of(key, mark) ? std::optional(mark) : std::nullopt;
}

std::vector<SyncMark> find_sync_marks(std::uint64_t key, std::string_view log) {
    std::string wanted;
    append_u64(wanted, key);
    const std::string stream = without_block_headers(log);
    std::vector<SyncMark> marks;
    for (std::size_t at = stream.find(wanted);
         at != std::string::npos && at + mark_bytes <= stream.size();
         at = stream.find(wanted, at + 1)) {
        const auto mark = decode_sync_mark(key, std::string_view(stream).substr(at));
        if (mark) marks.push_back(*mark);
    }
    return marks;
}

LogExtent measure_log(std::string_view log) {
    LogExtent extent;
    // Whether the next record must continue one that did not fit into its block.
    bool continued = false;
    std::size_t offset = 0;
    while (offset + LogTail::header_bytes <= log.size()) {
        const std::size_t left_in_block = LogTail::block_bytes - offset % LogTail::block_bytes;
        if (left_in_block < LogTail::header_bytes) {
            offset += left_in_block;
            continue;
        }
        const std::string_view record = LogTail::record_at(log.substr(offset, left_in_block));
        if (record.empty() || !LogTail::checksum_matches(record)) break;
        const auto kind = static_cast<LogTail::Kind>(record[LogTail::kind_at]);
        const bool continues = kind == LogTail::Kind::middle || kind == LogTail::Kind::last;
        if (continues != continued) break;
        continued = kind == LogTail::Kind::first || kind == LogTail::Kind::middle;
        offset += record.size();
        if (!continued) extent.intact = offset;
    }
    const auto last = log.find_last_not_of('\0');
    extent.written = std::max(extent.intact, last == std::string_view::npos ? 0 : last + 1);
    ROCKLOCK_ASSERT(extent.intact <= extent.written && extent.written <= log.size());
    // A record that was written only partly can begin with a few zeros.
    const auto rest = log.substr(extent.intact, extent.written - extent.intact);
    const auto zeros = std::min(rest.find_first_not_of('\0'), rest.size());
    extent.discarded = rest.size() - (zeros < LogTail::header_bytes ? 0 : zeros);
    return extent;
}

}  // namespace rocklock
