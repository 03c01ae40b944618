// Compares eight bytes of a text at a time.
//
// The results of below() and equal() are not 0 if one of the bytes is below the limit, or equal to
// the byte. The lowest bit that is set is then the high bit of the first such byte. The high bits
// of the bytes above it are arbitrary. Both functions ignore bytes of 0x80 and more: their high
// bits are arbitrary, so the caller must mask them.
#pragma once

#include <cstdint>
#include <cstring>

namespace rocklock::eight_bytes {

constexpr std::uint64_t repeat(std::uint64_t byte) { return byte * 0x0101'0101'0101'0101U; }
constexpr std::uint64_t high_bits = repeat(0x80);

inline std::uint64_t load(const char* text) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, text, sizeof bytes);
    return bytes;
}

constexpr std::uint64_t below(std::uint64_t bytes, std::uint64_t limit) {
    return bytes - repeat(limit);
}

constexpr std::uint64_t equal(std::uint64_t bytes, std::uint64_t byte) {
    return below(bytes ^ repeat(byte), 1);
}

}  // namespace rocklock::eight_bytes
