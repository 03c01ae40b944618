// Encodes numbers and strings as bytes, and decodes them.
//
// Numbers of a fixed size are big-endian, so that encoded keys sort as their numbers do. A varint
// contains seven bits of a number per byte, beginning with the lowest bits. If the high bit of a
// byte is set, another byte follows. A string is its length as a varint, followed by its bytes.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "base/assert.hpp"

namespace rocklock {

inline void append_u8(std::string& out, std::uint8_t value) {
    out.push_back(static_cast<char>(value));
}

// Converts between the byte order of the machine and big-endian order.
template <typename Unsigned>
Unsigned big_endian_of(Unsigned value) {
    if constexpr (std::endian::native == std::endian::big || sizeof(Unsigned) == 1) {
        return value;
    } else if constexpr (sizeof(Unsigned) == 2) {
        return __builtin_bswap16(value);
    } else if constexpr (sizeof(Unsigned) == 4) {
        return __builtin_bswap32(value);
    } else {
        static_assert(sizeof(Unsigned) == 8);
        return __builtin_bswap64(value);
    }
}

template <typename Unsigned>
void append_big_endian(std::string& out, Unsigned value) {
    const Unsigned swapped = big_endian_of(value);
    char bytes[sizeof(Unsigned)];
    std::memcpy(bytes, &swapped, sizeof bytes);
    out.append(bytes, sizeof bytes);
}

inline void append_u16(std::string& out, std::uint16_t value) { append_big_endian(out, value); }
inline void append_u32(std::string& out, std::uint32_t value) { append_big_endian(out, value); }
inline void append_u64(std::string& out, std::uint64_t value) { append_big_endian(out, value); }

inline constexpr std::size_t max_varint_bytes = 10;

// Writes a varint to `at`, where there must be space for `max_varint_bytes`, even if the varint is
// shorter. Returns its size.
inline std::size_t encode_varint(char* at, std::uint64_t value) {
    if (value < 0x80) {
        *at = static_cast<char>(value);
        return 1;
    }
    if constexpr (std::endian::native == std::endian::little) {
        if (value < std::uint64_t{1} << 56) {
            // Moves each group of seven bits into a byte of its own.
            value = (value & 0xFFFFFFF) | (value & 0xFFFFFFF0000000) << 4;
            value = (value & 0x00003FFF00003FFF) | (value & 0x0FFFC0000FFFC000) << 2;
            value = (value & 0x007F007F007F007F) | (value & 0x3F803F803F803F80) << 1;
            const auto size = static_cast<std::size_t>(std::bit_width(value) + 7) / 8;
            const auto last = std::uint64_t{1} << (8 * (size - 1));
            value |= 0x8080808080808080 & (last - 1);
            std::memcpy(at, &value, sizeof value);
            return size;
        }
    }
    std::size_t size = 0;
    for (; value >= 0x80; value >>= 7) at[size++] = static_cast<char>(value | 0x80);
    at[size++] = static_cast<char>(value);
    return size;
}

// Reads the varint at `at`, before `end`, and returns the position after it. Returns null if the
// varint is incomplete, exceeds 64 bits, or is not in its shortest form.
inline const char* decode_varint(const char* at, const char* end, std::uint64_t& value) {
    if constexpr (std::endian::native == std::endian::little) {
        if (end - at >= static_cast<std::ptrdiff_t>(sizeof value)) {
            std::memcpy(&value, at, sizeof value);
            const std::uint64_t ends = ~value & 0x8080808080808080;
            if (ends != 0) {
                const int bits = std::countr_zero(ends) + 1;
                value &= ~std::uint64_t{0} >> (64 - bits);
                if (bits > 8 && value >> (bits - 8) == 0) return nullptr;
                // Joins the groups of seven bits, of which each byte contains one.
                value = (value & 0x007F007F007F007F) | (value & 0x7F007F007F007F00) >> 1;
                value = (value & 0x00003FFF00003FFF) | (value & 0x3FFF00003FFF0000) >> 2;
                value = (value & 0xFFFFFFF) | (value & 0x0FFFFFFF00000000) >> 4;
                return at + bits / 8;
            }
        }
    }
    value = 0;
    for (unsigned shift = 0; shift < 64 && at != end; shift += 7) {
        const auto byte = static_cast<std::uint8_t>(*at++);
        const std::uint64_t bits = byte & 0x7F;
        if (shift == 63 && bits > 1) return nullptr;
        value |= bits << shift;
        if (byte >= 0x80) continue;
        return bits == 0 && shift > 0 ? nullptr : at;
    }
    return nullptr;
}

inline void append_varint(std::string& out, std::uint64_t value) {
    // Most varints fit in one byte.
    if (value < 0x80) return out.push_back(static_cast<char>(value));
    char bytes[max_varint_bytes];
    out.append(bytes, encode_varint(bytes, value));
}

inline void append_bytes(std::string& out, std::string_view bytes) { out.append(bytes); }

inline void append_string(std::string& out, std::string_view text) {
    append_varint(out, text.size());
    out.append(text);
}

// Appends encoded values to a string with fewer instructions than the functions above. It collects
// the bytes in a buffer on the stack, because an append to a std::string takes more instructions
// than the encoding of a number. The string is complete after flush(), and must not be used before.
//
// Lifetime: borrows the string.
class ByteWriter {
public:
    explicit ByteWriter(std::string& out) : out_(out) {}
    ByteWriter(const ByteWriter&) = delete;
    ByteWriter& operator=(const ByteWriter&) = delete;

    [[gnu::noinline]] void flush() {
        if (out_.empty() && out_.capacity() < used_) {
            // Faster than an append to a string that must grow.
            out_ = std::string(buffer_.data(), used_);
        } else {
            out_.append(buffer_.data(), used_);
        }
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
        if (value.empty()) return;
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
    [[gnu::always_inline]] void varint(std::uint64_t value) {
        if (value < 0x80) return byte(static_cast<char>(value));
        long_varint(value);
    }

private:
    // Most varints fit in one byte, so only that part of varint() is inlined.
    [[gnu::noinline]] void long_varint(std::uint64_t value) {
        if (used_ + max_varint_bytes > buffer_.size()) flush();
        used_ += encode_varint(buffer_.data() + used_, value);
    }
    [[gnu::always_inline]] char* room(std::size_t size) {
        if (used_ + size > buffer_.size()) [[unlikely]]
            flush();
        char* const at = buffer_.data() + used_;
        used_ += size;
        return at;
    }

    std::string& out_;
    std::size_t used_ = 0;
    // Not initialized, for speed: only the first `used_` bytes are read.
    std::array<char, 256> buffer_;
};

// The functions above for a writer.
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

// Decodes values from the front of `bytes`. The bytes must outlive the reader.
//
// A read fails and returns nullopt if too few bytes are left, or if a varint exceeds 64 bits or is
// not in its shortest form. After a failed read, all later reads return nullopt. Therefore, it is
// enough to check the last read or ok().
class Reader {
public:
    explicit Reader(std::string_view bytes) : rest_(bytes) {}

    std::optional<std::uint8_t> u8() { return big_endian<std::uint8_t>(); }
    std::optional<std::uint16_t> u16() { return big_endian<std::uint16_t>(); }
    std::optional<std::uint32_t> u32() { return big_endian<std::uint32_t>(); }
    std::optional<std::uint64_t> u64() { return big_endian<std::uint64_t>(); }

    std::optional<std::uint64_t> varint() {
        if (!ok_ || rest_.empty()) return fail();
        const auto first = static_cast<std::uint8_t>(rest_.front());
        if (first >= 0x80) return long_varint();
        rest_.remove_prefix(1);
        return first;
    }

    // Returns a view into the bytes of the reader.
    std::optional<std::string_view> bytes(std::size_t size) {
        if (!ok_ || size > rest_.size()) return fail();
        const auto taken = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return taken;
    }

    std::optional<std::string_view> string() {
        const auto size = varint();
        if (!size) return std::nullopt;
        if (*size > rest_.size()) return fail();
        return bytes(static_cast<std::size_t>(*size));
    }

    std::string_view rest() const { return rest_; }
    // ok() returns true if all reads succeeded. done() returns true if all reads succeeded and no
    // bytes are left.
    bool ok() const { return ok_; }
    bool done() const { return ok_ && rest_.empty(); }

private:
    template <typename Unsigned>
    std::optional<Unsigned> big_endian() {
        const auto taken = bytes(sizeof(Unsigned));
        if (!taken) return std::nullopt;
        Unsigned value = 0;
        std::memcpy(&value, taken->data(), sizeof value);
        return big_endian_of(value);
    }

    // Reads a varint of two or more bytes.
    std::optional<std::uint64_t> long_varint() {
        std::uint64_t value = 0;
        const char* const end = decode_varint(rest_.data(), rest_.data() + rest_.size(), value);
        if (end == nullptr) return fail();
        rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
        return value;
    }

    std::nullopt_t fail() {
        ok_ = false;
        return std::nullopt;
    }

    std::string_view rest_;
    bool ok_ = true;
};

}  // namespace rocklock
