// Names of resources and principals: what is allowed, and how they are compared.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <rocklock/result.hpp>

namespace rocklock {

// UTF-8 as in RFC 3629: no surrogates, nothing overlong, nothing past U+10FFFF.
bool is_utf8(std::string_view text);

// 1 to 1,024 bytes of UTF-8 without NUL. `what` begins the message: "resource name".
std::optional<Error> check_name(std::string_view what, std::string_view name);
// At most limits::name_parts parts: the lock table has an entry for each path above a name. Names
// that are stored already may have more.
std::optional<Error> check_depth(std::string_view resource);
// UTF-8 of at most limits::metadata_bytes in all.
std::optional<Error> check_texts(std::string_view note, const Metadata& metadata);
// 100 ms to 30 days.
std::optional<Error> check_lease(std::chrono::milliseconds lease);

// The path above `path`; none for a name without '/'. Elements may be empty: above "a//b" is "a/",
// above that "a".
std::optional<std::string_view> parent_path(std::string_view path);

// FNV-1a, 64 bits, from any start value. Stable for ever: it is written to disk.
constexpr std::uint64_t fnv_start = 0xcbf29ce484222325;
constexpr std::uint64_t fnv1a(std::string_view bytes, std::uint64_t hash = fnv_start) {
    for (const char byte : bytes) {
        hash ^= static_cast<unsigned char>(byte);
        hash *= 0x100000001b3;
    }
    return hash;
}

}  // namespace rocklock
