// The numbers of members and verbs in frames. A number consists of 15 bits of a hash of the name.
//
// Since the number is derived from the name, no central table of numbers is needed. A member with
// the same name has the same number in every object. A test checks that no two members of one
// object have the same number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lock/model/names.hpp"

namespace rocklock {

// Returns the lowest 15 bits of the 64-bit FNV-1a hash of the name.
constexpr std::uint16_t frame_number(std::string_view name) {
    return static_cast<std::uint16_t>(fnv1a(name) & 0x7FFF);
}

// The name of a member with its number, which is computed at compile time.
struct FrameTag {
    // Implicit, because the descriptions in lock_members.hpp pass string literals.
    template <std::size_t size>
    consteval FrameTag(const char (&literal)[size])  // NOLINT(google-explicit-constructor)
        : name(literal, size - 1), number(frame_number(name)) {}

    std::string_view name;
    std::uint16_t number;
};

}  // namespace rocklock
