// base64url without padding (RFC 4648, section 5).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace rocklock {

std::string base64url_encode(std::span<const std::uint8_t> bytes);

// Decodes `text` into `bytes`. Returns false if `text` contains padding or an invalid character,
// does not encode exactly `bytes.size()` bytes, or has unused bits that are not zero. In these
// cases, the content of `bytes` is unspecified. Therefore, each sequence of bytes has exactly one
// valid text.
bool base64url_decode(std::string_view text, std::span<std::uint8_t> bytes);

}  // namespace rocklock
