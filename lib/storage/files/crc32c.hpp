// CRC-32C, the checksum of log records (Castagnoli; RFC 3720, appendix B.4).
#pragma once

#include <cstdint>
#include <string_view>

namespace rocklock {

// Returns the CRC-32C of the bytes. Uses the instruction of the processor if there is one.
std::uint32_t crc32c(std::string_view bytes);

}  // namespace rocklock
