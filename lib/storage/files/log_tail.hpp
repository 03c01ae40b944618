// Finds the end of a RocksDB log that was extended with zeros in advance.
//
// A log is a sequence of blocks of 32 KB. A block contains whole records. A record has a header
// (four bytes of checksum, two of length, one of type) and a payload. If fewer bytes than a header
// are left after the last record of a block, these bytes are zero. See "Write Ahead Log File
// Format" in RocksDB's documentation.
//
//     ┌────────┬────────┬─────────┬──────────────────────┐
//     │ record │ record │ rec 0 0 │ 0 0 0 0 0 0 0 0 0 0  │     zeros, not yet overwritten
//     └────────┴────────┴─────────┴──────────────────────┘
//                           ▲ end
//
// RocksDB's recovery modes assume that a log ends with its last written byte. To RocksDB, a record
// that the end of the file cuts short is an unfinished write, and a record with a wrong checksum is
// damage. If a log ended with zeros, an unfinished write would look like damage. RocksDB would also
// skip zeros in the middle of a log. Therefore, LogTail computes where the file would end without
// the zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rocklock {

// Threads: one at a time.
class LogTail {
public:
    static constexpr std::size_t block_bytes = 32'768;
    static constexpr std::size_t header_bytes = 7;
    // The offset of the record type in a header. Type zero means that there is no record.
    static constexpr std::size_t kind_at = 6;

    // A complete record, or the first, a middle or the last fragment of a record.
    enum class Kind : char { whole = 1, first, middle, last };

    // Returns the record, including its header, at the beginning of `rest`, the remainder of a
    // block. Returns an empty view if there is no record, because the type is unknown or the length
    // exceeds `rest`.
    static std::string_view record_at(std::string_view rest);
    // Returns the checksum that the header of the record must contain: the CRC-32C of type and
    // payload, masked (rotated, plus a constant).
    static std::uint32_t checksum_of(std::string_view record);
    // Returns whether the checksum in the header matches the record.
    static bool checksum_matches(std::string_view record);

    // Reads the next block. Each block must have block_bytes bytes, except for the last block of
    // the file, which may be shorter.
    void read(std::string_view block);

    // Returns the number of bytes that were written. A reader must treat this as the end of the
    // file.
    std::uint64_t end() const;
    // Returns the offset of a zero header after which written bytes follow, or nullopt if there is
    // none. After a power failure, unsynced data may have such a gap. In all other cases, a gap is
    // damage.
    std::optional<std::uint64_t> gap() const;
    // Returns whether all records could be parsed, no data follows after the last record, and the
    // checksum of the last record is correct. The checksums of the other records are not verified.
    bool clean() const;

private:
    void follow(std::string_view block);
    void note_written(std::string_view rest, std::uint64_t from);

    std::uint64_t length_ = 0;
    // The bytes of the last record, and the offset of its end.
    std::string last_;
    std::uint64_t last_end_ = 0;
    // The offset of the first header with type zero.
    std::optional<std::uint64_t> zeros_;
    // The offset after the last nonzero byte at or after `zeros_`.
    std::uint64_t written_ = 0;
    // Whether a record could not be parsed, so that the next record could not be found. RocksDB
    // reports the reason when it reads the log.
    bool unrecognized_ = false;
};

}  // namespace rocklock
