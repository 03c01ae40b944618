// Where a log of RocksDB ends that was written into space laid out before it.
//
// A log is a row of blocks of 32 KB with records in them, none of which goes over the end of its
// block: four bytes of checksum, two of length, one of kind, and the payload. What is left of a
// block behind its last record, less than a header, is zero. (RocksDB's documentation: "Write Ahead
// Log File Format".)
//
//     ┌────────┬────────┬─────────┬──────────────────────┐
//     │ record │ record │ rec 0 0 │ 0 0 0 0 0 0 0 0 0 0  │     laid out, and not written
//     └────────┴────────┴─────────┴──────────────────────┘
//                           ▲ here it ends
//
// Without the space behind it such a file would end there by itself, and RocksDB's ways of recovery
// are made for that: a record that the end of the file cuts short is a write that was not finished,
// one with a wrong checksum is damage. Zeros would make the former into the latter, and zeros in
// the midst of a log are passed over.
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
    // In a header: the byte that says the kind of its record, zero for none.
    static constexpr std::size_t kind_at = 6;

    // Whole records, and the first, middle and last parts of one.
    enum class Kind : char { whole = 1, first, middle, last };

    // The record, with its header, that `rest` of a block begins with. Empty if there is none: its
    // kind is unknown, or it is longer than `rest`.
    static std::string_view record_at(std::string_view rest);
    // Whether the checksum in the header of a record is that of its bytes.
    static bool sound(std::string_view record);

    // The next block: of block_bytes, but for the last one of the file.
    void read(std::string_view block);

    // How much of the file was written: up to there it reads as if nothing had been laid out.
    std::uint64_t end() const;
    // The header of zeros behind which something was written, which happens to what was not synced
    // when the power is cut; or by damage.
    std::optional<std::uint64_t> gap() const;
    // Whether all records could be followed and nothing comes after the last one, whose checksum is
    // right. Of the records before it only the headers were looked at.
    bool clean() const;

private:
    void follow(std::string_view block);
    void note_written(std::string_view rest, std::uint64_t from);

    std::uint64_t length_ = 0;
    // The last record: all of it, and where it ends.
    std::string last_;
    std::uint64_t last_end_ = 0;
    // The first header without a kind.
    std::optional<std::uint64_t> zeros_;
    // Behind the last byte from `zeros_` on that is not zero.
    std::uint64_t written_ = 0;
    // A record that cannot be followed: RocksDB says what is wrong with it.
    bool strange_ = false;
};

}  // namespace rocklock
