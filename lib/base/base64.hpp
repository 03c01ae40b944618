// base64 with padding (RFC 4648, section 4). DynamoDB's JSON uses this encoding for binary values.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rocklock {

std::string base64_encode(std::string_view bytes);
// Appends the encoding of `bytes` to `out`.
void append_base64(std::string& out, std::string_view bytes);

// Returns the decoded bytes. Returns nullopt if the text contains an invalid character, has wrong
// padding, or has unused bits that are not zero. Therefore, each sequence of bytes has exactly one
// valid text.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace rocklock
