#include "base/base64url.hpp"

#include <array>

#include "base/assert.hpp"

namespace rocklock {
namespace {

constexpr std::string_view url_alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::uint8_t foreign_to_url = 0xFF;

constexpr std::array<std::uint8_t, 256> url_values = [] {
    std::array<std::uint8_t, 256> table{};
    table.fill(foreign_to_url);
    for (std::size_t i = 0; i < url_alphabet.size(); ++i) {
        table[static_cast<std::uint8_t>(url_alphabet[i])] = static_cast<std::uint8_t>(i);
    }
    return table;
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
    // Has the highest bit of a byte set if any character is invalid.
    std::uint32_t faults = 0;
    const auto value_at = [&](std::size_t at) {
        const std::uint32_t value = url_values[static_cast<std::uint8_t>(text[at])];
        faults |= value;
        return value;
    };
    auto out = bytes.begin();
    std::size_t i = 0;
    for (; i + 4 <= text.size(); i += 4) {
        const auto bits =
            value_at(i) << 18 | value_at(i + 1) << 12 | value_at(i + 2) << 6 | value_at(i + 3);
        *out++ = static_cast<std::uint8_t>(bits >> 16 & 0xFF);
        *out++ = static_cast<std::uint8_t>(bits >> 8 & 0xFF);
        *out++ = static_cast<std::uint8_t>(bits & 0xFF);
    }
    // Two or three characters are left, or none. The last one has unused bits.
    std::uint32_t unused = 0;
    if (const auto left = text.size() - i; left == 2) {
        const auto bits = value_at(i) << 6 | value_at(i + 1);
        *out++ = static_cast<std::uint8_t>(bits >> 4 & 0xFF);
        unused = bits & 0xF;
    } else if (left == 3) {
        const auto bits = value_at(i) << 12 | value_at(i + 1) << 6 | value_at(i + 2);
        *out++ = static_cast<std::uint8_t>(bits >> 10 & 0xFF);
        *out++ = static_cast<std::uint8_t>(bits >> 2 & 0xFF);
        unused = bits & 0x3;
    }
    ROCKLOCK_ASSERT(out == bytes.end());
    return (faults & 0x80U) == 0 && unused == 0;
}

}  // namespace rocklock
