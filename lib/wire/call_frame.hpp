// Calls, replies and errors as frames: the compact form of what call_json.hpp writes.
//
//     connection = greeting, frame, frame, ...
//     frame      = length (u32) of what follows, kind (u8), number (u64), body
//
// A client numbers its calls; replies carry the number of their call and come as they are decided,
// in any order. docs/protocol.md gives every byte.
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

// What a client sends first; no HTTP method begins with its first byte. The last one is the
// version.
inline constexpr std::string_view frame_greeting = "\xF5RL\x01";

// The longest frame that a server reads, its length not counted; clients read longer ones. What the
// lock API accepts is far shorter, and a thread that reads a frame keeps others waiting meanwhile.
inline constexpr std::size_t max_call_frame_bytes = 1U << 20;
inline constexpr std::size_t max_reply_frame_bytes = 1U << 30;

enum class FrameKind : std::uint8_t {
    // From clients.
    call = 1,
    // Withdraws the call of that number, if it waits; that call is answered all the same.
    cancel = 2,
    // From the server.
    reply = 3,
    refusal = 4,
    // What the client sent makes no sense, and nothing more is read from it. The number is 0.
    farewell = 5,
};

struct Frame {
    FrameKind kind{};
    std::uint64_t number = 0;
    // Points into the bytes that it was taken from.
    std::string_view body;
};

// Takes the first frame off `bytes`; none while it is not whole. Errors: invalid_argument: these
// bytes are no frame, or one longer than `longest`.
Result<std::optional<Frame>> take_frame(std::string_view& bytes, std::size_t longest);

void append_call(std::string& out, std::uint64_t number, const Call& call);
void append_cancel(std::string& out, std::uint64_t number);
// `held` is how long the server had the call before it decided, or less.
void append_reply(std::string& out, std::uint64_t number, std::chrono::milliseconds held,
                  const Reply& reply);
void append_refusal(std::string& out, std::uint64_t number, const Error& error,
                    FrameKind kind = FrameKind::refusal);

// Reads the body of a call. Strict, as read_call of call_json.hpp. Errors: invalid_argument.
Result<Call> read_call_frame(std::string_view body);

struct FrameReply {
    std::chrono::milliseconds held{};
    Reply reply;
};
// Reads the body of the reply to `asked`. Members it does not know are left alone. Errors:
// io_error, for what is no such reply.
Result<FrameReply> read_reply_frame(const CallBody& asked, std::string_view body);

// Never fails: what cannot be read becomes an io_error that says so.
Error read_refusal_frame(std::string_view body);

}  // namespace rocklock
