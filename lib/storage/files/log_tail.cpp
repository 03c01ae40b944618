#include "storage/files/log_tail.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "storage/files/crc32c.hpp"

namespace rocklock {
namespace {

constexpr std::size_t length_at = 4;

unsigned char byte_at(std::string_view bytes, std::size_t offset) {
    return static_cast<unsigned char>(bytes[offset]);
}

std::size_t length_in(std::string_view header) {
    return byte_at(header, length_at) | std::size_t{byte_at(header, length_at + 1)} << 8;
}

// Returns the length without trailing zeros.
std::size_t written_of(std::string_view bytes) {
    const auto last = bytes.find_last_not_of('\0');
    return last == std::string_view::npos ? 0 : last + 1;
}

}  // namespace

std::string_view LogTail::record_at(std::string_view rest) {
    if (rest.size() < header_bytes) return {};
    const unsigned char kind = byte_at(rest, kind_at);
    const std::size_t size = header_bytes + length_in(rest);
    const bool known = kind != 0 && kind <= static_cast<unsigned char>(Kind::last);
    return known && size <= rest.size() ? rest.substr(0, size) : std::string_view();
}

// RocksDB masks stored checksums because a CRC of data that contains CRCs is weak.
std::uint32_t LogTail::checksum_of(std::string_view record) {
    const std::uint32_t plain = crc32c(record.substr(kind_at));
    return ((plain >> 15) | (plain << 17)) + 0xA282EAD8U;
}

bool LogTail::checksum_matches(std::string_view record) {
    std::uint32_t said = 0;
    for (std::size_t i = 4; i-- > 0;) said = said << 8 | byte_at(record, i);
    return said == checksum_of(record);
}

void LogTail::read(std::string_view block) {
    if (zeros_) {
        note_written(block, length_);
    } else if (!unrecognized_) {
        follow(block);
    }
    length_ += block.size();
}

void LogTail::follow(std::string_view block) {
    std::size_t offset = 0;
    std::string_view last;
    while (offset + header_bytes <= block.size() && byte_at(block, offset + kind_at) != 0) {
        const std::string_view record = record_at(block.substr(offset));
        if (record.empty()) {
            unrecognized_ = true;
            break;
        }
        last = record;
        offset += record.size();
    }
    if (!last.empty()) {
        last_ = last;
        last_end_ = length_ + offset;
    }
    if (unrecognized_) return;
    ROCKLOCK_ASSERT(offset <= block.size());
    const bool trailer = block.size() == block_bytes && offset + header_bytes > block.size();
    if (trailer || offset == block.size()) return;
    zeros_ = length_ + offset;
    written_ = *zeros_;
    note_written(block.substr(offset), *zeros_);
}

void LogTail::note_written(std::string_view rest, std::uint64_t from) {
    if (const std::size_t written = written_of(rest); written > 0) written_ = from + written;
}

std::uint64_t LogTail::end() const {
    if (!zeros_ || gap()) return length_;
    // If the last record is damaged, it was probably written only partly. Its trailing zeros are
    // then cut off, so that RocksDB finds a record that ends too early. If part of a header
    // follows, the end is after that part.
    if (written_ > *zeros_ || last_.empty() || checksum_matches(last_)) return written_;
    return last_end_ - (last_.size() - written_of(last_));
}

std::optional<std::uint64_t> LogTail::gap() const {
    return zeros_ && written_ > *zeros_ + header_bytes ? zeros_ : std::nullopt;
}

bool LogTail::clean() const {
    if (unrecognized_ || gap() || (zeros_ && written_ > *zeros_)) return false;
    if (last_.empty()) return true;
    const auto kind = static_cast<Kind>(last_[kind_at]);
    return (kind == Kind::whole || kind == Kind::last) && checksum_matches(last_);
}

}  // namespace rocklock
