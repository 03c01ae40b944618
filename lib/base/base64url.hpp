// base64url without padding (RFC 4648, section 5).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace rocklock {

std::string base64url_encode(std::span<const std::uint8_t> bytes);

// Decodes `text` into `bytes`. Returns false if the decoded text does not have the size of `bytes`,
// contains padding or an invalid character, or has unused bits that are not zero. The content of
// `bytes` is then unspecified. Each sequence of bytes has exactly one valid text.
bool base64url_decode(std::string_view text, std::span<std::uint8_t> bytes);

}  // namespace rocklock
