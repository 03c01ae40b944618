// The frames on an established connection between a relay and its manager, which is called a link.
//
// A link carries the connections of many clients. Each of them is a channel, whose number the relay
// chooses. Calls of many clients therefore share system calls and TLS records.
//
//     u32 size of the payload   u8 type   u32 channel   payload
//
//     type     sent by   payload
//     open     relay     a ClientIdentity. The first frame of a channel
//     data     both      bytes of the client's connection
//     end      both      the sender has no more bytes for this channel
//     close    relay     the client has closed its connection. varint: the number of bytes that the
//                        client has certainly read
//              manager   the manager has closed the connection. No payload
//     credit   both      varint: the number of further bytes that the other side may send on this
//                        channel
//     refuse   manager   the reason why the client is refused. The last frame of a channel
//     watch    manager   a ProcessId: the relay must report the end of this process. Channel 0
//     unwatch  manager   a ProcessId that need not be watched any more. Channel 0
//     ended    relay     a ProcessId that was watched and has ended. Channel 0
//     find     manager   a ProcessQuery, which the relay must answer with `found`. Channel 0
//     found    relay     a ProcessReport, the answer to a query. Channel 0
//
// At the beginning of a channel, each side may send `first_credit` bytes on it. A side that
// receives a frame for a channel that it has already closed ignores the frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <rocklock/identity.hpp>
#include <rocklock/result.hpp>

namespace rocklock {

enum class LinkFrame : std::uint8_t {
    open = 1,
    data = 2,
    end = 3,
    close = 4,
    credit = 5,
    refuse = 6,
    watch = 7,
    unwatch = 8,
    ended = 9,
    find = 10,
    found = 11,
};

using ChannelNumber = std::uint32_t;

// The maximum number of bytes that each side of a channel may send before the other side has
// consumed them.
inline constexpr std::uint64_t first_credit = 128u << 10;
// The consumer of a channel grants this many bytes of credit at once, so that small messages need
// no frames for credit.
inline constexpr std::uint64_t credit_step = first_credit / 4;
inline constexpr std::size_t link_frame_head = 9;
inline constexpr std::size_t max_link_payload = 64u << 10;

// A client of a relay, as the kernel of the relay's host identifies it.
struct ClientIdentity {
    std::uint32_t uid = 0;
    // Empty if the user has no name.
    std::string user_name;
    // 0 if the client is in another pid namespace than the relay, or is connected over TCP.
    ProcessId process;
    // Whether the client is connected to the relay over TCP.
    bool tcp = false;
    friend bool operator==(const ClientIdentity&, const ClientIdentity&) = default;
};

// A query of the manager: is there a process with the number `pid` on the relay's host, and may the
// user `uid` of that host bind a session to it?
struct ProcessQuery {
    std::uint64_t number = 0;
    std::uint32_t uid = 0;
    std::int32_t pid = 0;
    friend bool operator==(const ProcessQuery&, const ProcessQuery&) = default;
};

struct ProcessReport {
    // The number of the query.
    std::uint64_t number = 0;
    // The pid is 0 if there is no such process.
    ProcessId process;
    // Whether the process belongs to another user than ProcessQuery::uid, and that uid is not root.
    // Root may use the processes of all users.
    bool of_another_user = false;
    friend bool operator==(const ProcessReport&, const ProcessReport&) = default;
};

// A frame whose payload is a view into the bytes from which it was decoded.
struct DecodedFrame {
    LinkFrame type{};
    ChannelNumber channel = 0;
    std::string_view payload;
};

// `payload` has at most max_link_payload bytes.
void append_frame(std::string& out, LinkFrame type, ChannelNumber channel,
                  std::string_view payload);

// Takes the first frame from the front of `bytes`. Returns nullopt if it is not complete.
//
// Errors: invalid_argument   the type is unknown, or the payload is too long
Result<std::optional<DecodedFrame>> take_frame(std::string_view& bytes);

// The payloads. The functions that decode return nullopt if the payload is invalid.
std::string encode(const ClientIdentity& client);
std::optional<ClientIdentity> decode_client(std::string_view payload);
std::string encode(const ProcessId& process);
std::optional<ProcessId> decode_process(std::string_view payload);
std::string encode(const ProcessQuery& query);
std::optional<ProcessQuery> decode_query(std::string_view payload);
std::string encode(const ProcessReport& report);
std::optional<ProcessReport> decode_report(std::string_view payload);
std::string encode_count(std::uint64_t count);
std::optional<std::uint64_t> decode_count(std::string_view payload);

}  // namespace rocklock
