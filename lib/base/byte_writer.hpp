// Encodes values as bytes.hpp does, with fewer instructions. The bytes of many small values are
// collected in a buffer on the stack and appended to the string together, because an append to a
// std::string takes more instructions than the encoding of a number.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/assert.hpp"
#include "base/bytes.hpp"

namespace rocklock {

// Appends to a string. The string is complete after flush(), and must not be used before.
// Lifetime: borrows the string.
class ByteWriter {
public:
    explicit ByteWriter(std::string& out) : out_(out) {}
    ByteWriter(const ByteWriter&) = delete;
    ByteWriter& operator=(const ByteWriter&) = delete;

    void flush() {
        out_.append(buffer_.data(), used_);
        used_ = 0;
    }

    // Returns the size of the string after flush().
    std::size_t size() const { return out_.size() + used_; }
    // Replaces the byte at this position of the string.
    void set(std::size_t position, char byte) {
        ROCKLOCK_ASSERT(position < size());
        (position < out_.size() ? out_[position] : buffer_[position - out_.size()]) = byte;
    }
    // Replaces the byte at this position by several bytes.
    void replace(std::size_t position, std::string_view bytes) {
        flush();
        out_.replace(position, 1, bytes);
    }

    void byte(char value) { *room(1) = value; }
    void bytes(std::string_view value) {
        if (value.size() > buffer_.size() / 2) {
            flush();
            out_.append(value);
            return;
        }
        std::memcpy(room(value.size()), value.data(), value.size());
    }
    template <typename Unsigned>
    void big_endian(Unsigned value) {
        const Unsigned swapped = big_endian_of(value);
        std::memcpy(room(sizeof swapped), &swapped, sizeof swapped);
    }
    void varint(std::uint64_t value) {
        if (used_ + max_varint > buffer_.size()) flush();
        for (; value >= 0x80; value >>= 7) buffer_[used_++] = static_cast<char>(value | 0x80);
        buffer_[used_++] = static_cast<char>(value);
    }

private:
    static constexpr std::size_t max_varint = 10;

    char* room(std::size_t size) {
        if (used_ + size > buffer_.size()) flush();
        char* const at = buffer_.data() + used_;
        used_ += size;
        return at;
    }

    std::string& out_;
    std::size_t used_ = 0;
    // Not initialized, for speed: only the first `used_` bytes are read.
    std::array<char, 256> buffer_;
};

// The functions of bytes.hpp for a writer.
inline void append_u8(ByteWriter& out, std::uint8_t value) { out.byte(static_cast<char>(value)); }
inline void append_u16(ByteWriter& out, std::uint16_t value) { out.big_endian(value); }
inline void append_u32(ByteWriter& out, std::uint32_t value) { out.big_endian(value); }
inline void append_u64(ByteWriter& out, std::uint64_t value) { out.big_endian(value); }
inline void append_varint(ByteWriter& out, std::uint64_t value) { out.varint(value); }
inline void append_bytes(ByteWriter& out, std::string_view bytes) { out.bytes(bytes); }
inline void append_string(ByteWriter& out, std::string_view text) {
    out.varint(text.size());
    out.bytes(text);
}

}  // namespace rocklock
