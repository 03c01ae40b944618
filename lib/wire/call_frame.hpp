// Calls, replies and errors as frames, which are a binary encoding of the members that
// call_json.hpp writes.
//
//     connection = greeting, frame, frame, ...
//     frame      = length (u32) of the rest, kind (u8), number (u64), body
//
// A client numbers its calls, and a reply contains the number of its call. Replies are sent in the
// order in which the calls are decided. This order can differ from that in which the calls were
// sent. docs/protocol.md defines every byte.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <rocklock/result.hpp>

#include "wire/call.hpp"

namespace rocklock {

// The first bytes that a client sends. No HTTP method begins with the first of these bytes, so a
// server can distinguish the two protocols. The last byte is the version.
inline constexpr std::string_view frame_greeting = "\xF5RL\x01";

// The maximum sizes of a frame, without the four bytes of its length. The first applies to a call,
// which a server reads, and the second to a reply, which a client reads. Because of the limits of
// the lock API, calls are much smaller than their maximum. If the maximum were larger, one client
// could delay the other clients of its I/O thread.
inline constexpr std::size_t max_call_frame_bytes = 1U << 20;
inline constexpr std::size_t max_reply_frame_bytes = 1U << 30;

enum class FrameKind : std::uint8_t {
    // Sent by clients.
    call = 1,
    // Cancels the call with this number if it waits. The server still sends a reply to the call.
    cancel = 2,
    // Sent by the server.
    reply = 3,
    refusal = 4,
    // Reports a protocol error. The server cannot parse the client's bytes, and does not read
    // further bytes. The number of this frame is 0.
    goodbye = 5,
    // Sent by clients. Asks the server to continue this connection in shared memory
    // (shared_memory/shared_connection.hpp). The number and the body are ignored.
    share = 6,
};

struct Frame {
    FrameKind kind{};
    std::uint64_t number = 0;
    // A view of the bytes that were passed to take_frame().
    std::string_view body;
};

// Removes the first frame from `bytes` and returns it. Returns nullopt if the frame is incomplete.
// Errors: invalid_argument if the bytes are not a frame; limit_exceeded if the frame is longer than
// `longest`.
Result<std::optional<Frame>> take_frame(std::string_view& bytes, std::size_t longest);

void append_call(std::string& out, std::uint64_t number, const Call& call);
// As append_call(), which uses it for the calls that append_frequent_call() does not write.
void append_any_call(std::string& out, std::uint64_t number, const Call& call);
void append_cancel(std::string& out, std::uint64_t number);
void append_share(std::string& out);
// `held` is a lower bound of the time from the arrival of the call at the server to its decision.
// It is 0 if this time is unknown.
void append_reply(std::string& out, std::uint64_t number, std::chrono::milliseconds held,
                  const Reply& reply);
// As append_reply() with 0 for `held`, for the response to a call that has not waited. The caller
// must have removed the members that only the owner of the session may see.
void append_answer(std::string& out, std::uint64_t number, const Answer& answer);
void append_refusal(std::string& out, std::uint64_t number, const Error& error,
                    FrameKind kind = FrameKind::refusal);

// Reads the body of a call, as strictly as read_call() of call_json.hpp. Errors: invalid_argument.
Result<Call> read_call_frame(std::string_view body);
// As read_call_frame(), which uses it for the calls that read_frequent_call() does not read.
Result<Call> read_any_call_frame(std::string_view body);

struct FrameReply {
    std::chrono::milliseconds held{};
    Reply reply;
};
// Reads the body of the reply to `asked`. Ignores unknown members. Errors: io_error if the body is
// not such a reply.
Result<FrameReply> read_reply_frame(const CallBody& asked, std::string_view body);
// Reads the body of a reply as read_reply_frame() does, but without copies: into `held` and
// `reply`, which must not be used after an error.
Result<void> read_reply_frame(const CallBody& asked, std::string_view body,
                              std::chrono::milliseconds& held, Reply& reply);
// As read_reply_frame(), which uses it for the replies that read_frequent_reply() does not read.
Result<FrameReply> read_any_reply_frame(const CallBody& asked, std::string_view body);

// Reads the body of an error. If the body cannot be parsed, returns an io_error that states this.
Error read_refusal_frame(std::string_view body);

}  // namespace rocklock
