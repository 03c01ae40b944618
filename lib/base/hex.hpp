// Hexadecimal text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rocklock {

// Returns two lower-case digits for each byte.
inline std::string hex(std::string_view bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    text.reserve(2 * bytes.size());
    for (const char byte : bytes) {
        text += digits[static_cast<std::uint8_t>(byte) >> 4U];
        text += digits[static_cast<std::uint8_t>(byte) & 15U];
    }
    return text;
}

}  // namespace rocklock
