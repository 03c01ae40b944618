// The encoding and decoding of the values in records. docs/storage_format.md describes the formats.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/bytes.hpp"
#include "lock/model/nodes.hpp"
#include "lock/records/records.hpp"

namespace rocklock::records {

// `out` is a std::string or a ByteWriter.
template <typename Out>
void append_boot(Out& out, BootTime time) {
    append_u64(out, static_cast<std::uint64_t>(time.time_since_epoch().count()));
}
template <typename Out>
void append_wall(Out& out, WallTime time) {
    append_u64(out, static_cast<std::uint64_t>(time.time_since_epoch().count()));
}
template <typename Out>
void append_duration(Out& out, std::chrono::milliseconds duration) {
    append_varint(out, static_cast<std::uint64_t>(duration.count()));
}
template <typename Out>
void append_session(Out& out, const SessionId& id) {
    append_bytes(out, {reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()});
}
template <typename Out>
void append_request(Out& out, const lock_model::RequestKey& key) {
    append_u64(out, key.high);
    append_u64(out, key.low);
}
template <typename Out>
void append_texts(Out& out, std::string_view note, const Metadata& metadata) {
    append_string(out, note);
    append_varint(out, metadata.size());
    for (const auto& [key, value] : metadata) {
        append_string(out, key);
        append_string(out, value);
    }
}
template <typename Out>
void append_ending(Out& out, const Ending& ending) {
    append_u8(out, static_cast<std::uint8_t>(ending.outcome));
    append_string(out, ending.by);
    append_string(out, ending.reason);
    append_wall(out, ending.at);
}

// Reads the values of a record in their order. After an error (too few bytes or an invalid value),
// `ok` is false, and the returned values are meaningless.
struct Parts {
    Reader reader;
    bool ok = true;

    explicit Parts(std::string_view bytes) : reader(bytes) {}

    template <typename T>
    auto checked(std::optional<T> value) {
        if (!value) ok = false;
        return value.value_or(T{});
    }
    std::uint8_t u8() { return checked(reader.u8()); }
    std::uint16_t u16() { return checked(reader.u16()); }
    std::uint32_t u32() { return checked(reader.u32()); }
    std::uint64_t u64() { return checked(reader.u64()); }
    std::uint64_t varint() { return checked(reader.varint()); }
    std::uint32_t varint32() {
        const std::uint64_t value = varint();
        if (value > UINT32_MAX) ok = false;
        return static_cast<std::uint32_t>(value);
    }
    std::string string() { return std::string(checked(reader.string())); }
    BootTime boot() { return BootTime(std::chrono::nanoseconds(static_cast<std::int64_t>(u64()))); }
    WallTime wall() {
        return WallTime(std::chrono::milliseconds(static_cast<std::int64_t>(u64())));
    }
    std::chrono::milliseconds duration() {
        return std::chrono::milliseconds(static_cast<std::int64_t>(varint()));
    }
    SessionId session() {
        SessionId id;
        const auto bytes = checked(reader.bytes(id.bytes.size()));
        if (ok) std::copy(bytes.begin(), bytes.end(), id.bytes.begin());
        return id;
    }
    lock_model::RequestKey request() {
        lock_model::RequestKey key;
        key.high = u64();
        key.low = u64();
        return key;
    }
    Mode mode(unsigned bits) {
        if (bits > static_cast<unsigned>(Mode::exclusive)) ok = false;
        return static_cast<Mode>(bits);
    }
    void texts(std::string& note, Metadata& metadata) {
        note = string();
        const std::uint64_t count = varint();
        for (std::uint64_t i = 0; ok && i < count; ++i) {
            std::string key = string();
            metadata[std::move(key)] = string();
        }
    }
    Ending ending() {
        Ending result;
        const std::uint8_t outcome = u8();
        if (outcome > static_cast<std::uint8_t>(Outcome::transferred)) ok = false;
        result.outcome = static_cast<Outcome>(outcome);
        result.by = string();
        result.reason = string();
        result.at = wall();
        return result;
    }
    // Sets all members of `result`, and reuses the memory of its name.
    void lock(Lock& result) {
        result.resource.assign(checked(reader.string()));
        if (result.resource.empty() || result.resource.size() > limits::name_bytes) ok = false;
        const unsigned bits = u8();
        result.mode = mode(bits & 3U);
        result.subtree = (bits & 4U) != 0;
        result.permits = varint32();
        result.cause = u8();
        result.before = GrantId{varint()};
    }
    bool done() const { return ok && reader.done(); }
};

}  // namespace rocklock::records
