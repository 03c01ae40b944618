// Hash functions for the indexes of the lock table: spread() for numbers that are consecutive or
// otherwise regular, hash_of() for names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace rocklock {

// Multiplies `value` by 2^64 divided by the golden ratio (Knuth, TAOCP 3, 6.4: Fibonacci hashing).
// The high bits of the product depend on all bits of `value`. The function mixes them into the low
// bits, which hash tables use.
inline std::size_t spread(std::uint64_t value) {
    value *= 0x9E3779B97F4A7C15U;
    return value ^ (value >> 32);
}

// Returns a hash of `text`. It takes few instructions for a text of a few dozen bytes. All bits of
// the hash depend on all bytes. The hash is not stored on disk.
inline std::uint64_t hash_of(std::string_view text) {
    constexpr std::uint64_t factor = 0x9E3779B97F4A7C15U;
    constexpr std::size_t word_bytes = sizeof(std::uint64_t);
    std::uint64_t hash = text.size() * factor;
    const auto add = [&](std::uint64_t word) {
        hash = (hash ^ word) * factor;
        hash ^= hash >> 32;
    };
    const auto word_at = [&](std::size_t position) {
        std::uint64_t word = 0;
        std::memcpy(&word, text.data() + position, sizeof word);
        return word;
    };
    if (text.size() < word_bytes) {
        std::uint64_t word = 0;
        for (const char byte : text) word = word << 8 | static_cast<unsigned char>(byte);
        add(word);
    } else {
        for (std::size_t at = 0; at + word_bytes < text.size(); at += word_bytes) add(word_at(at));
        // The last word may overlap the one before it.
        add(word_at(text.size() - word_bytes));
    }
    hash *= factor;
    return hash ^ (hash >> 29);
}

}  // namespace rocklock
