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
    std::string text;
    text.reserve(text_size(bytes.size()));
    std::uint32_t bits = 0;
    unsigned count = 0;
    for (const std::uint8_t byte : bytes) {
        bits = bits << 8 | byte;
        count += 8;
        while (count >= 6) {
            count -= 6;
            text.push_back(url_alphabet[bits >> count & 0x3F]);
        }
    }
    if (count > 0) text.push_back(url_alphabet[bits << (6 - count) & 0x3F]);
    return text;
}

bool base64url_decode(std::string_view text, std::span<std::uint8_t> bytes) {
    if (text.size() != text_size(bytes.size())) return false;
    std::uint32_t bits = 0;
    unsigned count = 0;
    // Has the highest bit of a byte set if any character is invalid.
    std::uint32_t faults = 0;
    auto out = bytes.begin();
    for (const char character : text) {
        const std::uint32_t value = url_values[static_cast<std::uint8_t>(character)];
        faults |= value;
        bits = bits << 6 | value;
        count += 6;
        if (count >= 8) {
            count -= 8;
            *out++ = static_cast<std::uint8_t>(bits >> count & 0xFF);
        }
    }
    ROCKLOCK_ASSERT(out == bytes.end());
    return (faults & 0x80U) == 0 && (bits & ((1U << count) - 1)) == 0;
}

}  // namespace rocklock
