#include "base/base64.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace rocklock {
namespace {

constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
// Marks an invalid character. No valid value has this bit.
constexpr std::uint32_t foreign = 0x8000'0000;

constexpr std::array<std::uint32_t, 256> values = [] {
    std::array<std::uint32_t, 256> table{};
    table.fill(foreign);
    for (std::size_t i = 0; i < alphabet.size(); ++i) {
        table[static_cast<std::uint8_t>(alphabet[i])] = static_cast<std::uint32_t>(i);
    }
    return table;
}();

std::uint32_t byte_at(std::string_view bytes, std::size_t at) {
    return static_cast<std::uint8_t>(bytes[at]);
}

std::uint32_t value_at(std::string_view text, std::size_t at) {
    return values[static_cast<std::uint8_t>(text[at])];
}

}  // namespace

std::string base64_encode(std::string_view bytes) {
    std::string text;
    append_base64(text, bytes);
    return text;
}

void append_base64(std::string& out, std::string_view bytes) {
    auto at = out.size();
    out.resize(at + (bytes.size() + 2) / 3 * 4, '=');
    std::size_t i = 0;
    for (; i + 3 <= bytes.size(); i += 3) {
        const auto bits =
            byte_at(bytes, i) << 16 | byte_at(bytes, i + 1) << 8 | byte_at(bytes, i + 2);
        out[at++] = alphabet[bits >> 18];
        out[at++] = alphabet[bits >> 12 & 0x3F];
        out[at++] = alphabet[bits >> 6 & 0x3F];
        out[at++] = alphabet[bits & 0x3F];
    }
    const auto left = bytes.size() - i;
    if (left == 0) return;
    const auto bits = byte_at(bytes, i) << 16 | (left == 2 ? byte_at(bytes, i + 1) << 8 : 0);
    out[at++] = alphabet[bits >> 18];
    out[at++] = alphabet[bits >> 12 & 0x3F];
    if (left == 2) out[at] = alphabet[bits >> 6 & 0x3F];
}

std::optional<std::string> base64_decode(std::string_view text) {
    if (text.size() % 4 != 0) return std::nullopt;
    std::size_t padding = 0;
    if (text.ends_with('=')) padding = text.ends_with("==") ? 2 : 1;
    text.remove_suffix(padding);

    std::string bytes(text.size() * 3 / 4, '\0');
    std::size_t at = 0;
    std::uint32_t seen = 0;
    std::size_t i = 0;
    for (; i + 4 <= text.size(); i += 4) {
        const auto bits = value_at(text, i) << 18 | value_at(text, i + 1) << 12 |
                          value_at(text, i + 2) << 6 | value_at(text, i + 3);
        seen |= value_at(text, i) | value_at(text, i + 1) | value_at(text, i + 2) |
                value_at(text, i + 3);
        bytes[at++] = static_cast<char>(bits >> 16 & 0xFF);
        bytes[at++] = static_cast<char>(bits >> 8 & 0xFF);
        bytes[at++] = static_cast<char>(bits & 0xFF);
    }
    if (padding > 0) {
        // Two or three characters are left. The last one has unused bits.
        std::uint32_t bits = 0;
        for (; i < text.size(); ++i) {
            seen |= value_at(text, i);
            bits = bits << 6 | value_at(text, i);
        }
        const std::size_t stray = padding * 2;
        if ((bits & ((1U << stray) - 1)) != 0) return std::nullopt;
        bits >>= stray;
        if (padding == 1) bytes[at++] = static_cast<char>(bits >> 8 & 0xFF);
        bytes[at] = static_cast<char>(bits & 0xFF);
    }
    if ((seen & foreign) != 0) return std::nullopt;
    return bytes;
}

}  // namespace rocklock
