// Bodies that come packed, and the checksum of those that go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rocklock {

struct Unpacked {
    std::string bytes;
    // There are more than were asked for; `bytes` means nothing then.
    bool too_long = false;
};

// Unpacks what gzip made, up to `most` bytes. Nothing where it is damaged, or not whole.
std::optional<Unpacked> unpack_gzip(std::string_view packed, std::size_t most);

// CRC-32, as of gzip and zip.
std::uint32_t crc32_of(std::string_view bytes);

}  // namespace rocklock
