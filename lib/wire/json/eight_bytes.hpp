// Compares eight bytes of a text at a time.
//
// Only the high bit of each byte of a result has a meaning: `below(...) & high_bits` is 0 if no
// byte is less than the limit, and `equal(...) & high_bits` is 0 if no byte equals the byte.
// Otherwise, the lowest bit that is set marks the first such byte. Higher bits have no meaning. At
// bytes of 0x80 or more, the result is arbitrary: the caller must exclude them with `~bytes`, or
// treat them as found with `| bytes`.
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
