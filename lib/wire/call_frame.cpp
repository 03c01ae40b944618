#include "wire/call_frame.hpp"

#include <utility>
#include <variant>

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "wire/error_names.hpp"
#include "wire/frame_reader.hpp"
#include "wire/frame_writer.hpp"
#include "wire/frequent_call.hpp"
#include "wire/lock_members.hpp"

namespace rocklock {
namespace {

constexpr std::size_t length_bytes = 4;
constexpr std::size_t head_bytes = 9;

// Sets the length of the frame that begins at `begin` and ends at the end of `out`.
void set_frame_size(std::string& out, std::size_t begin) {
    ROCKLOCK_ASSERT(out.size() >= begin + length_bytes + head_bytes);
    auto size = static_cast<std::uint32_t>(out.size() - begin - length_bytes);
    for (std::size_t i = length_bytes; i-- > 0; size >>= 8) {
        out[begin + i] = static_cast<char>(size & 0xFF);
    }
}

// Writes the head of a frame; the destructor fills in its length.
class OpenFrame {
public:
    OpenFrame(std::string& out, FrameKind kind, std::uint64_t number)
        : out_(out), begin_(out.size()) {
        append_u32(out_, 0);
        append_u8(out_, static_cast<std::uint8_t>(kind));
        append_u64(out_, number);
    }
    OpenFrame(const OpenFrame&) = delete;
    OpenFrame& operator=(const OpenFrame&) = delete;
    ~OpenFrame() { set_frame_size(out_, begin_); }

private:
    std::string& out_;
    const std::size_t begin_;
};

bool is_kind(std::uint8_t kind) {
    return kind >= static_cast<std::uint8_t>(FrameKind::call) &&
           kind <= static_cast<std::uint8_t>(FrameKind::share);
}

}  // namespace

Result<std::optional<Frame>> take_frame(std::string_view& bytes, std::size_t longest) {
    Reader reader(bytes);
    const auto size = reader.u32();
    if (!size) return std::optional<Frame>();
    if (*size < head_bytes) {
        return Error(ErrorCode::invalid_argument,
                     "this is not a frame: it is too short for a kind and a number");
    }
    if (*size > longest) {
        Error error(ErrorCode::limit_exceeded, "a frame of " + std::to_string(*size) +
                                                   " bytes: at most " + std::to_string(longest) +
                                                   " are allowed");
        error.limit = longest;
        return error;
    }
    const auto kind = reader.u8();
    if (kind && !is_kind(*kind)) {
        return Error(ErrorCode::invalid_argument,
                     "this is not a frame: there is no kind " + std::to_string(*kind));
    }
    const auto number = reader.u64();
    const auto body = reader.bytes(*size - head_bytes);
    if (!body) return std::optional<Frame>();
    ROCKLOCK_ASSERT(bytes.size() >= length_bytes + *size);
    bytes.remove_prefix(length_bytes + *size);
    return std::optional<Frame>(Frame{static_cast<FrameKind>(*kind), *number, *body});
}

void append_call(std::string& out, std::uint64_t number, const Call& call) {
    if (!append_frequent_call(out, number, call)) append_any_call(out, number, call);
}

void append_any_call(std::string& out, std::uint64_t number, const Call& call) {
    const OpenFrame frame(out, FrameKind::call, number);
    append_u16(out, verb_number(call.body));
    FrameWriter writer(out);
    std::visit([&](const auto& body) { describe_call(writer, call, body); }, call.body);
    writer.finish();
}

void append_cancel(std::string& out, std::uint64_t number) {
    const OpenFrame frame(out, FrameKind::cancel, number);
}

void append_share(std::string& out) { const OpenFrame frame(out, FrameKind::share, 0); }

namespace {

template <typename T>
void append_value(std::string& out, std::uint64_t number, std::chrono::milliseconds held,
                  const T& value) {
    const auto begin = out.size();
    {
        FrameWriter writer(out);
        writer.begin_frame(static_cast<std::uint8_t>(FrameKind::reply), number);
        writer.begin_reply(held);
        describe(writer, value);
        writer.finish();
    }
    set_frame_size(out, begin);
}

}  // namespace

void append_reply(std::string& out, std::uint64_t number, std::chrono::milliseconds held,
                  const Reply& reply) {
    std::visit([&](const auto& value) { append_value(out, number, held, value); }, reply);
}

void append_answer(std::string& out, std::uint64_t number, const Answer& answer) {
    if (append_frequent_reply(out, number, answer)) return;
    std::visit([&](const auto& value) { append_value(out, number, {}, value); }, answer);
}

void append_refusal(std::string& out, std::uint64_t number, const Error& error, FrameKind kind) {
    const OpenFrame frame(out, kind, number);
    FrameWriter writer(out);
    writer.required("Code", std::string(to_string(error.code)));
    writer.required("Message", error.message);
    describe_facts(writer, error);
    writer.finish();
}

Result<Call> read_call_frame(std::string_view body) {
    // A Release needs the least work to construct.
    Result<Call> call{Call{CallBody(std::in_place_type<Release>), {}, {}, false}};
    if (read_frequent_call(body, *call)) return call;
    return read_any_call_frame(body);
}

Result<Call> read_any_call_frame(std::string_view body) {
    Result<Call> call{Call()};
    Reader reader(body);
    const auto verb = reader.u16();
    if (!verb || !begin_call(*call, *verb)) {
        return Error(ErrorCode::invalid_argument,
                     verb ? "no verb has the number " + std::to_string(*verb)
                          : "a call begins with the number of its verb");
    }
    FirstProblem problem;
    FrameReader members(reader.rest(), true, problem);
    std::visit([&](auto& asked) { describe_call(members, *call, asked); }, call->body);
    members.finish();
    if (problem.found()) call = Error(ErrorCode::invalid_argument, problem.message());
    return call;
}

Result<FrameReply> read_reply_frame(const CallBody& asked, std::string_view body) {
    Result<FrameReply> read{FrameReply()};
    if (auto wrong = read_reply_frame(asked, body, read->held, read->reply); !wrong) {
        return std::move(wrong).error();
    }
    return read;
}

Result<void> read_reply_frame(const CallBody& asked, std::string_view body,
                              std::chrono::milliseconds& held, Reply& reply) {
    if (read_frequent_reply(asked, body, held, reply)) return {};
    auto read = read_any_reply_frame(asked, body);
    if (!read) return std::move(read).error();
    held = read->held;
    reply = std::move(read->reply);
    return {};
}

Result<FrameReply> read_any_reply_frame(const CallBody& asked, std::string_view body) {
    Reader reader(body);
    FrameReply read;
    const auto held = reader.varint();
    FirstProblem problem;
    if (!held || *held > std::uint64_t{1} << 53)
        problem.report("it does not begin with a duration");
    read.held = std::chrono::milliseconds{problem.found() ? 0 : static_cast<std::int64_t>(*held)};
    std::visit(
        [&](const auto& verb) {
            ReplyTo<std::decay_t<decltype(verb)>> value{};
            FrameReader members(reader.rest(), false, problem);
            describe(members, value);
            read.reply = std::move(value);
        },
        asked);
    if (problem.found()) {
        return Error(ErrorCode::io_error, "the daemon's answer is invalid: " + problem.message());
    }
    return read;
}

Error read_refusal_frame(std::string_view body) {
    Error error;
    std::string code;
    FirstProblem problem;
    FrameReader members(body, false, problem);
    members.required("Code", code);
    members.required("Message", error.message);
    describe_facts(members, error);
    if (problem.found()) {
        return {ErrorCode::io_error,
                "the daemon's error response is invalid: " + problem.message()};
    }
    const auto known = error_code(code);
    error.code = known.value_or(ErrorCode::io_error);
    if (!known) error.message = code + ": " + error.message;
    return error;
}

}  // namespace rocklock
