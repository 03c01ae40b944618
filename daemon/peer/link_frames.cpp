#include "daemon/peer/link_frames.hpp"

#include <limits>

#include "base/assert.hpp"
#include "base/bytes.hpp"

namespace rocklock {
namespace {

constexpr std::size_t max_user_name = 255;
constexpr std::uint8_t flag_tcp = 1;
constexpr std::uint8_t flag_of_another_user = 1;

std::optional<std::int32_t> pid_of(std::optional<std::uint64_t> number) {
    if (!number || *number > std::uint64_t{std::numeric_limits<std::int32_t>::max()}) {
        return std::nullopt;
    }
    return static_cast<std::int32_t>(*number);
}

void append_process(std::string& payload, const ProcessId& process) {
    append_varint(payload, static_cast<std::uint32_t>(process.pid));
    append_varint(payload, process.start_time);
}

std::optional<ProcessId> read_process(Reader& reader) {
    const auto pid = pid_of(reader.varint());
    const auto start_time = reader.varint();
    if (!pid || !start_time) return std::nullopt;
    return ProcessId{*pid, *start_time};
}

}  // namespace

void append_frame(std::string& out, LinkFrame type, ChannelNumber channel,
                  std::string_view payload) {
    ROCKLOCK_ASSERT(payload.size() <= max_link_payload);
    append_u32(out, static_cast<std::uint32_t>(payload.size()));
    append_u8(out, static_cast<std::uint8_t>(type));
    append_u32(out, channel);
    out.append(payload);
}

Result<std::optional<DecodedFrame>> take_frame(std::string_view& bytes) {
    if (bytes.size() < link_frame_head) return std::optional<DecodedFrame>();
    Reader reader(bytes);
    const auto size = *reader.u32();
    const auto type = *reader.u8();
    const auto channel = *reader.u32();
    if (size > max_link_payload) {
        return Error(ErrorCode::invalid_argument, "a frame of the link is too long");
    }
    if (type < static_cast<std::uint8_t>(LinkFrame::open) ||
        type > static_cast<std::uint8_t>(LinkFrame::found)) {
        return Error(ErrorCode::invalid_argument, "a frame of the link has an unknown type");
    }
    const auto payload = reader.bytes(size);
    if (!payload) return std::optional<DecodedFrame>();
    bytes = reader.rest();
    return std::optional(DecodedFrame{static_cast<LinkFrame>(type), channel, *payload});
}

std::string encode(const ClientIdentity& client) {
    std::string payload;
    append_u32(payload, client.uid);
    append_string(payload, std::string_view(client.user_name).substr(0, max_user_name));
    append_process(payload, client.process);
    append_u8(payload, client.tcp ? flag_tcp : 0);
    return payload;
}

std::optional<ClientIdentity> decode_client(std::string_view payload) {
    Reader reader(payload);
    const auto uid = reader.u32();
    const auto user_name = reader.string();
    const auto process = read_process(reader);
    const auto flags = reader.u8();
    if (!reader.done() || !process || user_name->size() > max_user_name) return std::nullopt;
    return ClientIdentity{*uid, std::string(*user_name), *process, (*flags & flag_tcp) != 0};
}

std::string encode(const ProcessId& process) {
    std::string payload;
    append_process(payload, process);
    return payload;
}

std::optional<ProcessId> decode_process(std::string_view payload) {
    Reader reader(payload);
    const auto process = read_process(reader);
    return reader.done() ? process : std::nullopt;
}

std::string encode(const ProcessQuery& query) {
    std::string payload;
    append_varint(payload, query.number);
    append_u32(payload, query.uid);
    append_varint(payload, static_cast<std::uint32_t>(query.pid));
    return payload;
}

std::optional<ProcessQuery> decode_query(std::string_view payload) {
    Reader reader(payload);
    const auto number = reader.varint();
    const auto uid = reader.u32();
    const auto pid = pid_of(reader.varint());
    if (!reader.done() || !pid) return std::nullopt;
    return ProcessQuery{*number, *uid, *pid};
}

std::string encode(const ProcessReport& report) {
    std::string payload;
    append_varint(payload, report.number);
    append_process(payload, report.process);
    append_u8(payload, report.of_another_user ? flag_of_another_user : 0);
    return payload;
}

std::optional<ProcessReport> decode_report(std::string_view payload) {
    Reader reader(payload);
    const auto number = reader.varint();
    const auto process = read_process(reader);
    const auto flags = reader.u8();
    if (!reader.done() || !process) return std::nullopt;
    return ProcessReport{*number, *process, (*flags & flag_of_another_user) != 0};
}

std::string encode_count(std::uint64_t count) {
    std::string payload;
    append_varint(payload, count);
    return payload;
}

std::optional<std::uint64_t> decode_count(std::string_view payload) {
    Reader reader(payload);
    const auto count = reader.varint();
    return reader.done() ? count : std::nullopt;
}

}  // namespace rocklock
