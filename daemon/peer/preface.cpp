#include "daemon/peer/preface.hpp"

#include <utility>

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "lock/model/names.hpp"

namespace rocklock {
namespace {

constexpr std::string_view preface_mark("\xF5RLP", 4);
constexpr std::string_view answer_mark("\xF5RLA", 4);
constexpr std::size_t max_rest = 4096;
constexpr std::size_t max_name = 255;
constexpr std::size_t max_reason = 1'000;

Error invalid_bytes(const std::string& why) {
    return {ErrorCode::invalid_argument, "invalid bytes on a connection between daemons: " + why};
}

std::string with_head(std::string_view mark, std::uint8_t status, const std::string& rest) {
    ROCKLOCK_ASSERT(rest.size() <= max_rest);
    std::string bytes(mark);
    append_u8(bytes, peer_protocol_version);
    append_u8(bytes, status);
    append_u16(bytes, static_cast<std::uint16_t>(rest.size()));
    return bytes + rest;
}

Result<std::size_t> rest_size(std::string_view head, std::string_view mark) {
    ROCKLOCK_ASSERT(head.size() == preface_head_size);
    if (!head.starts_with(mark)) return invalid_bytes("the other side is not a daemon of Rocklock");
    Reader reader(head.substr(mark.size()));
    const auto version = reader.u8();
    reader.u8();
    const auto size = reader.u16();
    if (*version != peer_protocol_version) {
        return invalid_bytes("the other side uses version " + std::to_string(*version) +
                             " of the protocol between daemons, and this daemon uses version " +
                             std::to_string(peer_protocol_version) +
                             ": run the same version of Rocklock on both hosts");
    }
    if (*size > max_rest) return invalid_bytes("the preface is too long");
    return *size;
}

}  // namespace

std::string encode(const Preface& preface) {
    ROCKLOCK_ASSERT(preface.node.size() <= max_name && preface.boot_id.size() <= max_name);
    std::string rest;
    append_string(rest, preface.node);
    append_string(rest, preface.boot_id);
    append_string(rest, std::string_view(preface.version).substr(0, max_name));
    return with_head(preface_mark, 0, rest);
}

std::string encode(const PrefaceAnswer& answer) {
    std::string rest;
    append_string(rest, std::string_view(answer.version).substr(0, max_name));
    append_string(rest, std::string_view(answer.reason).substr(0, max_reason));
    return with_head(answer_mark, answer.accepted ? 0 : 1, rest);
}

Result<std::size_t> preface_rest_size(std::string_view head) {
    return rest_size(head, preface_mark);
}

Result<std::size_t> answer_rest_size(std::string_view head) { return rest_size(head, answer_mark); }

Result<Preface> decode_preface(std::string_view head, std::string_view rest) {
    auto size = preface_rest_size(head);
    if (!size) return std::move(size).error();
    Reader reader(rest);
    const auto node = reader.string();
    const auto boot_id = reader.string();
    const auto version = reader.string();
    if (!version) return invalid_bytes("the preface is incomplete");
    if (node->size() > max_name || boot_id->size() > max_name || version->size() > max_name) {
        return invalid_bytes("a member of the preface is too long");
    }
    return Preface{std::string(*node), std::string(*boot_id), std::string(*version)};
}

Result<PrefaceAnswer> decode_answer(std::string_view head, std::string_view rest) {
    auto size = answer_rest_size(head);
    if (!size) return std::move(size).error();
    Reader reader(rest);
    const auto version = reader.string();
    const auto reason = reader.string();
    if (!reason) return invalid_bytes("the answer is incomplete");
    if (version->size() > max_name || reason->size() > max_reason) {
        return invalid_bytes("a member of the answer is too long");
    }
    if (!is_utf8(*version) || !is_utf8(*reason)) {
        return invalid_bytes("a member of the answer is not valid UTF-8");
    }
    const bool accepted = head[5] == 0;
    return PrefaceAnswer{accepted, std::string(*version), std::string(*reason)};
}

}  // namespace rocklock
