// How frames name members and verbs: by fifteen bits of their names.
//
// A number that follows from the name needs no table that everybody who adds a member must touch,
// and a member keeps its number wherever it stands. That no two members of one object share a
// number is tested.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lock/model/names.hpp"

namespace rocklock {

// The lowest fifteen bits of the 64-bit FNV-1a of the name.
constexpr std::uint16_t frame_number(std::string_view name) {
    return static_cast<std::uint16_t>(fnv1a(name) & 0x7FFF);
}

// The name of a member, worked out when it is compiled.
struct FrameTag {
    // The descriptions in lock_members.hpp give literals.
    template <std::size_t size>
    consteval FrameTag(const char (&literal)[size])  // NOLINT(google-explicit-constructor)
        : name(literal, size - 1), number(frame_number(name)) {}

    std::string_view name;
    std::uint16_t number;
};

}  // namespace rocklock
