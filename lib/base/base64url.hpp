// base64url without padding (RFC 4648, section 5).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rocklock {

std::string base64url_encode(std::span<const std::uint8_t> bytes);

// Strict: padding, foreign characters, impossible lengths and stray low bits are nothing, so that
// each sequence of bytes has one text.
std::optional<std::string> base64url_decode(std::string_view text);

}  // namespace rocklock
