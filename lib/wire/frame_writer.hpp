// Writes the members of values into frames. The functions describe() and describe_call() of
// lock_members.hpp call a function of FrameWriter for each member.
//
//     member = tag (u16: number * 2, + 1 if the value is bytes), value
//     value  = a varint, or the length as a varint and the bytes
//
// docs/protocol.md defines the encoding of each type.
#pragma once

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <rocklock/lock.hpp>

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "wire/draft_json.hpp"
#include "wire/frame_tag.hpp"
#include "wire/json/attribute_json.hpp"
#include "wire/json/json_writer.hpp"
#include "wire/lock_members.hpp"

namespace rocklock {

// Whether a value of this type is encoded as one varint. Values of all other types are encoded as
// bytes.
template <typename T>
inline constexpr bool is_frame_number = std::is_arithmetic_v<T> || std::is_enum_v<T>;
template <typename Rep, typename Period>
inline constexpr bool is_frame_number<std::chrono::duration<Rep, Period>> = true;
template <typename Clock, typename Duration>
inline constexpr bool is_frame_number<std::chrono::time_point<Clock, Duration>> = true;
template <typename T>
inline constexpr bool is_frame_number<std::optional<T>> = is_frame_number<T>;

// Encodes 0, -1, 1, -2, ... as 0, 1, 2, 3, ...
constexpr std::uint64_t zigzag(std::int64_t value) {
    return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}
constexpr std::int64_t unzigzag(std::uint64_t value) {
    return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

class FrameWriter {
public:
    static constexpr bool reading = false;

    // Appends to `out`, which is complete after finish().
    explicit FrameWriter(std::string& out) : out_(out) {}
    void finish() { out_.flush(); }

    // Writes the head of a frame with the length 0. The caller must set the length after finish().
    void begin_frame(std::uint8_t kind, std::uint64_t number) {
        append_u32(out_, 0);
        append_u8(out_, kind);
        append_u64(out_, number);
    }
    // Writes the time that a call has waited, with which the body of its reply begins.
    void begin_reply(std::chrono::milliseconds held) {
        append_varint(out_, static_cast<std::uint64_t>(std::max<std::int64_t>(held.count(), 0)));
    }

    template <typename T>
    void required(FrameTag tag, const T& value) {
        append_u16(out_,
                   static_cast<std::uint16_t>(tag.number * 2U + (is_frame_number<T> ? 0U : 1U)));
        write(value);
    }
    template <typename T>
    void required(FrameTag tag, const std::optional<T>& value) {
        if (value) required(tag, *value);
    }
    template <typename T>
    void defaulted(FrameTag tag, const T& value) {
        required(tag, value);
    }
    template <typename T>
    void optional(FrameTag tag, const T& value) {
        if (!says_nothing(value)) required(tag, value);
    }
    // Writes a wait timeout. If it is longer than 100 years, as `no_limit` is, writes -1, which
    // means no limit. If it is negative, writes -2, which the manager refuses.
    void patience(FrameTag tag, std::chrono::milliseconds value) {
        constexpr std::chrono::milliseconds a_hundred_years = std::chrono::hours{24 * 36'525};
        if (value > a_hundred_years)
            value = std::chrono::milliseconds{-1};
        else if (value.count() < 0)
            value = std::chrono::milliseconds{-2};
        required(tag, value);
    }
    template <typename T>
    void flat_optional(FrameTag /*tag*/, const std::optional<T>& value) {
        if (value) describe(*this, *value);
    }

private:
    template <typename T>
    requires std::is_unsigned_v<T>
    void write(T value) { append_varint(out_, value); }
    template <typename T>
    requires(std::is_signed_v<T>&& std::is_integral_v<T>) void write(T value) {
        append_varint(out_, zigzag(value));
    }
    void write(double value) { append_varint(out_, std::bit_cast<std::uint64_t>(value)); }
    template <typename T>
    requires std::is_enum_v<T>
    void write(T value) { append_varint(out_, static_cast<std::uint64_t>(value)); }
    void write(std::chrono::milliseconds value) { write(std::int64_t{value.count()}); }
    void write(std::chrono::nanoseconds value) { write(std::int64_t{value.count()}); }
    void write(BootTime value) { write(std::int64_t{value.time_since_epoch().count()}); }
    void write(WallTime value) { write(std::int64_t{value.time_since_epoch().count()}); }

    void write(const std::string& value) { append_string(out_, value); }
    void write(const WriteItem& value) { append_string(out_, draft_action_text(value)); }
    void write(const AttributeMap& value) {
        JsonWriter json;
        write_item(json, value);
        append_string(out_, json.text());
    }
    void write(const AttributeValue& value) {
        JsonWriter json;
        write_attribute_value(json, value);
        append_string(out_, json.text());
    }
    void write(const SessionId& value) { write_raw(value.bytes); }
    void write(const Secret& value) { write_raw(value.bytes); }
    template <std::size_t size>
    void write_raw(const std::array<std::uint8_t, size>& bytes) {
        append_varint(out_, size);
        append_bytes(out_, {reinterpret_cast<const char*>(bytes.data()), size});
    }
    void write(const Metadata& value) {
        const auto begin = begin_block();
        append_varint(out_, value.size());
        for (const auto& [name, text] : value) {
            append_string(out_, name);
            append_string(out_, text);
        }
        end_block(begin);
    }
    template <typename T>
    void write(const std::vector<T>& values) {
        const auto begin = begin_block();
        append_varint(out_, values.size());
        for (const auto& value : values) write(value);
        end_block(begin);
    }
    template <typename T>
    requires std::is_class_v<T>
    void write(const T& value) {
        const auto begin = begin_block();
        describe(*this, value);
        end_block(begin);
    }

    // A block is a length followed by its bytes. One byte is reserved for the length, which is
    // enough for most blocks; end_block() inserts more bytes if needed.
    std::size_t begin_block() {
        append_u8(out_, 0);
        return out_.size();
    }
    void end_block(std::size_t begin) {
        ROCKLOCK_ASSERT(begin > 0 && begin <= out_.size());
        const auto size = out_.size() - begin;
        if (size < 0x80) {
            out_.set(begin - 1, static_cast<char>(size));
            return;
        }
        set_long_length(begin, size);
    }
    [[gnu::noinline]] void set_long_length(std::size_t begin, std::size_t size) {
        std::string length;
        append_varint(length, size);
        out_.replace(begin - 1, length);
    }

    ByteWriter out_;
};

}  // namespace rocklock
