#include "base/base64url.hpp"

#include <array>

#include "base/assert.hpp"

namespace rocklock {
namespace {

constexpr std::string_view url_alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
// The 24 bits of a group of four characters: one table for each position in the group, with the
// value of each character shifted to that position. `invalid_character` stands for a character that
// is not in the alphabet.
constexpr std::size_t group_size = 4;
constexpr std::uint32_t invalid_character = 0x8000'0000;

constexpr std::array<std::array<std::uint32_t, 256>, group_size> url_values = [] {
    std::array<std::array<std::uint32_t, 256>, group_size> tables{};
    for (std::size_t position = 0; position < group_size; ++position) {
        tables[position].fill(invalid_character);
        for (std::uint32_t i = 0; i < url_alphabet.size(); ++i) {
            tables[position][static_cast<std::uint8_t>(url_alphabet[i])] = i << (18 - 6 * position);
        }
    }
    return tables;
}();

constexpr std::size_t text_size(std::size_t bytes) { return (bytes * 4 + 2) / 3; }

}  // namespace

std::string base64url_encode(std::span<const std::uint8_t> bytes) {
    std::string text(text_size(bytes.size()), '\0');
    auto out = text.begin();
    // Writes the highest `count` characters of 24 bits.
    const auto put = [&](std::uint32_t bits, unsigned count) {
        for (unsigned shift = 18; count > 0; --count, shift -= 6) {
            *out++ = url_alphabet[bits >> shift & 0x3F];
        }
    };
    std::size_t i = 0;
    for (; i + 3 <= bytes.size(); i += 3) {
        put(std::uint32_t{bytes[i]} << 16 | std::uint32_t{bytes[i + 1]} << 8 | bytes[i + 2], 4);
    }
    const auto left = bytes.size() - i;
    if (left == 1) put(std::uint32_t{bytes[i]} << 16, 2);
    if (left == 2) put(std::uint32_t{bytes[i]} << 16 | std::uint32_t{bytes[i + 1]} << 8, 3);
    return text;
}

bool base64url_decode(std::string_view text, std::span<std::uint8_t> bytes) {
    if (text.size() != text_size(bytes.size())) return false;
    // Has `invalid_character` set if any character is invalid.
    std::uint32_t all = 0;
    const auto value_at = [&](std::size_t at, std::size_t position) {
        return url_values[position][static_cast<std::uint8_t>(text[at + position])];
    };
    auto out = bytes.begin();
    std::size_t i = 0;
    for (; i + group_size <= text.size(); i += group_size) {
        // Written without a loop, because g++ -O2 does not unroll one.
        const std::uint32_t bits =
            value_at(i, 0) | value_at(i, 1) | value_at(i, 2) | value_at(i, 3);
        all |= bits;
        *out++ = static_cast<std::uint8_t>(bits >> 16 & 0xFF);
        *out++ = static_cast<std::uint8_t>(bits >> 8 & 0xFF);
        *out++ = static_cast<std::uint8_t>(bits & 0xFF);
    }
    // Two or three characters are left, or none. The last one has unused bits.
    std::uint32_t unused = 0;
    if (const auto left = text.size() - i; left > 0) {
        std::uint32_t bits = 0;
        for (std::size_t position = 0; position < left; ++position) bits |= value_at(i, position);
        all |= bits;
        for (; out != bytes.end(); bits <<= 8)
            *out++ = static_cast<std::uint8_t>(bits >> 16 & 0xFF);
        unused = bits & 0xFF'FFFF;
    }
    ROCKLOCK_ASSERT(out == bytes.end());
    return (all & invalid_character) == 0 && unused == 0;
}

}  // namespace rocklock
