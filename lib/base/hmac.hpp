// HMAC-SHA256 (RFC 2104), with the hash function of libcrypto.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace rocklock {

std::array<std::uint8_t, 32> hmac_sha256(std::string_view key, std::string_view message);

// Returns whether `left` and `right` are equal. If their lengths are equal, the running time does
// not depend on their content.
bool equal_in_constant_time(std::string_view left, std::string_view right);

}  // namespace rocklock
