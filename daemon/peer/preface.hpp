// The first bytes of a connection between a relay and a manager, after the TLS handshake.
//
//     relay ──► manager    preface
//     manager ──► relay    answer: accepted, or the reason why not
//     after that           frames (link_frames.hpp)
//
//     preface   F5 'R' 'L' 'P'   u8 version   u8 0   u16 size of the rest
//               string node   string boot id   string version of the relay's program
//     answer    F5 'R' 'L' 'A'   u8 version   u8 0 if accepted, 1 if not   u16 size of the rest
//               string version of the manager's program   string reason
//
// lib/base/bytes.hpp defines the encoding. A later version may append members to either message, so
// a reader ignores bytes after the members that it knows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <rocklock/result.hpp>

namespace rocklock {

inline constexpr std::uint8_t peer_protocol_version = 1;

// The size of the part of a preface or an answer that precedes the rest.
inline constexpr std::size_t preface_head_size = 8;

struct Preface {
    // The name of the relay's node.
    std::string node;
    // The id of the boot of the relay's host.
    std::string boot_id;
    // The version of the program that the relay runs.
    std::string version;
    friend bool operator==(const Preface&, const Preface&) = default;
};

struct PrefaceAnswer {
    bool accepted = false;
    // The version of the program that the manager runs.
    std::string version;
    // Empty if the connection was accepted.
    std::string reason;
    friend bool operator==(const PrefaceAnswer&, const PrefaceAnswer&) = default;
};

// The names must have at most 255 bytes, and the reason at most 1,000.
std::string encode(const Preface& preface);
std::string encode(const PrefaceAnswer& answer);

// Returns the size of the rest. `head` has preface_head_size bytes.
//
// Errors: invalid_argument  the bytes are not the head of a preface or of an answer, or the version
//                           in them is not the version of this program
Result<std::size_t> preface_rest_size(std::string_view head);
Result<std::size_t> answer_rest_size(std::string_view head);

// Errors: invalid_argument   as above, or a member is missing or out of range
Result<Preface> decode_preface(std::string_view head, std::string_view rest);
Result<PrefaceAnswer> decode_answer(std::string_view head, std::string_view rest);

}  // namespace rocklock
