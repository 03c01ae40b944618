// base64 with padding (RFC 4648, section 4), as DynamoDB's JSON has binary values.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rocklock {

std::string base64_encode(std::string_view bytes);
// The same at the end of `out`.
void append_base64(std::string& out, std::string_view bytes);

// Strict: foreign characters, missing or needless padding and stray low bits are nothing, so that
// each sequence of bytes has one text.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace rocklock
