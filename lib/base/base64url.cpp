#include "base/base64url.hpp"

#include <array>

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

}  // namespace

std::string base64url_encode(std::span<const std::uint8_t> bytes) {
    std::string text;
    text.reserve((bytes.size() * 4 + 2) / 3);
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

std::optional<std::string> base64url_decode(std::string_view text) {
    if (text.size() % 4 == 1) return std::nullopt;
    std::string bytes;
    bytes.reserve(text.size() * 3 / 4);
    std::uint32_t bits = 0;
    unsigned count = 0;
    for (const char character : text) {
        const std::uint8_t value = url_values[static_cast<std::uint8_t>(character)];
        if (value == foreign_to_url) return std::nullopt;
        bits = bits << 6 | value;
        count += 6;
        if (count >= 8) {
            count -= 8;
            bytes.push_back(static_cast<char>(bits >> count & 0xFF));
        }
    }
    if ((bits & ((1U << count) - 1)) != 0) return std::nullopt;
    return bytes;
}

}  // namespace rocklock
