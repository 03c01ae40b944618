// Decompression of request bodies, and the checksum of response bodies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rocklock {

struct Unpacked {
    std::string bytes;
    // Whether the decompressed data is longer than the limit. If so, `bytes` is incomplete.
    bool too_long = false;
};

// Decompresses gzip data. `max_bytes` limits the size of the decompressed data. Returns nullopt if
// the gzip data is damaged or incomplete.
std::optional<Unpacked> unpack_gzip(std::string_view packed, std::size_t max_bytes);

// Returns the CRC-32 that gzip and zip use.
std::uint32_t crc32_of(std::string_view bytes);

}  // namespace rocklock
