// The rules for names of resources and principals, and for other texts.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <rocklock/result.hpp>

namespace rocklock {

// Returns whether the text is valid UTF-8 as defined in RFC 3629: no surrogates, no overlong
// sequences, at most U+10FFFF.
bool is_utf8(std::string_view text);

// Returns an error unless the name is 1 to 1,024 bytes of UTF-8 without NUL. `what` begins the
// message, for example "resource name".
std::optional<Error> check_name(std::string_view what, std::string_view name);
// Returns an error if the name has more than limits::name_parts elements. The limit exists because
// the lock table has an entry for each path above a name. Names that an earlier version has stored
// may have more elements.
std::optional<Error> check_depth(std::string_view resource);
// Returns an error unless all texts are UTF-8 and have at most limits::metadata_bytes in total.
std::optional<Error> check_texts(std::string_view note, const Metadata& metadata);
// Returns an error unless the lease is 100 ms to 30 days.
std::optional<Error> check_lease(std::chrono::milliseconds lease);

// Returns the path above `path`, or nullopt if there is none. Elements may be empty: the path above
// "a//b" is "a/", and the path above "a/" is "a".
std::optional<std::string_view> parent_path(std::string_view path);

// The 64-bit hash FNV-1a of `bytes`, continued from `hash`. Hashes are stored on disk, so the
// function must never change.
constexpr std::uint64_t fnv_start = 0xcbf29ce484222325;
inline constexpr std::uint64_t fnv_prime = 0x100000001b3;

constexpr std::uint64_t fnv1a(std::string_view bytes, std::uint64_t hash = fnv_start) {
    for (const char byte : bytes) {
        hash ^= static_cast<unsigned char>(byte);
        hash *= fnv_prime;
    }
    return hash;
}

// Returns fnv1a() of the eight bytes of a number, lowest byte first.
constexpr std::uint64_t fnv1a_of_number(std::uint64_t number, std::uint64_t hash) {
    constexpr std::uint64_t squared = fnv_prime * fnv_prime;
    constexpr std::uint64_t to_the_8th = squared * squared * squared * squared;
    // The other bytes are 0. Each of them only multiplies the hash by the prime.
    if (number < 0x100) return (hash ^ number) * to_the_8th;
    for (std::size_t i = 0; i < sizeof number; ++i, number >>= 8) {
        hash ^= number & 0xFF;
        hash *= fnv_prime;
    }
    return hash;
}

}  // namespace rocklock
