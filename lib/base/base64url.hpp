// base64url without padding (RFC 4648, section 5).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rocklock {

std::string base64url_encode(std::span<const std::uint8_t> bytes);

// Returns the decoded bytes. Returns nullopt if the text contains padding or an invalid character,
// has an impossible length, or has unused bits that are not zero: each sequence of bytes has
// exactly one valid text.
std::optional<std::string> base64url_decode(std::string_view text);

}  // namespace rocklock
