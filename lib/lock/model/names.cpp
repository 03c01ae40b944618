#include "lock/model/names.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/invalid_argument.hpp"

namespace rocklock {

namespace {

// Returns the length of the sequence at the beginning of `text`, or 0 if it is not valid UTF-8. See
// RFC 3629, section 4.
std::size_t sequence_length(std::string_view text) {
    const auto byte = [&](std::size_t i) -> unsigned {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
    };
    const auto tail = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
    const unsigned first = byte(0);
    if (first < 0x80) return 1;
    if (first < 0xC2) return 0;
    if (first < 0xE0) return tail(1) ? 2 : 0;
    if (first < 0xF0) {
        if (first == 0xE0 && byte(1) < 0xA0) return 0;
        if (first == 0xED && byte(1) >= 0xA0) return 0;
        return tail(1) && tail(2) ? 3 : 0;
    }
    if (first > 0xF4) return 0;
    if (first == 0xF0 && byte(1) < 0x90) return 0;
    if (first == 0xF4 && byte(1) >= 0x90) return 0;
    return tail(1) && tail(2) && tail(3) ? 4 : 0;
}

}  // namespace

bool is_utf8(std::string_view text) {
    // Most names are ASCII: skip eight bytes at once if no byte has its highest bit set.
    std::uint64_t bytes = 0;
    while (text.size() >= sizeof bytes) {
        std::memcpy(&bytes, text.data(), sizeof bytes);
        if ((bytes & 0x8080'8080'8080'8080) != 0) break;
        text.remove_prefix(sizeof bytes);
    }
    while (!text.empty()) {
        const std::size_t length = sequence_length(text);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

std::optional<Error> check_name(std::string_view what, std::string_view name) {
    if (name.empty())
        return invalid_argument(std::string(what) + " is empty: give 1 to 1,024 bytes of UTF-8");
    if (name.size() > limits::name_bytes) {
        return invalid_argument(std::string(what) + " has " + std::to_string(name.size()) +
                                " bytes: at most 1,024 are allowed");
    }
    if (name.find('\0') != std::string_view::npos) {
        return invalid_argument(std::string(what) + " contains a NUL byte: give UTF-8 without NUL");
    }
    if (!is_utf8(name)) return invalid_argument(std::string(what) + " is not valid UTF-8");
    return std::nullopt;
}

std::optional<Error> check_depth(std::string_view resource) {
    // A name with more parts has at least as many bytes.
    if (resource.size() < limits::name_parts) return std::nullopt;
    const auto parts =
        static_cast<std::size_t>(std::count(resource.begin(), resource.end(), '/')) + 1;
    if (parts <= limits::name_parts) return std::nullopt;
    return invalid_argument("resource name has " + std::to_string(parts) +
                            " parts between slashes: at most 64 are allowed");
}

std::optional<Error> check_texts(std::string_view note, const Metadata& metadata) {
    std::size_t bytes = note.size();
    if (!is_utf8(note)) return invalid_argument("the note is not valid UTF-8");
    for (const auto& [key, value] : metadata) {
        bytes += key.size() + value.size();
        if (!is_utf8(key)) return invalid_argument("a key of the metadata is not valid UTF-8");
        if (!is_utf8(value)) {
            return invalid_argument("the metadata of \"" + key + "\" is not valid UTF-8");
        }
    }
    if (bytes <= limits::metadata_bytes) return std::nullopt;
    const std::string what =
        metadata.empty() ? "the note or reason has " : "note and metadata have ";
    Error error(ErrorCode::limit_exceeded, what + std::to_string(bytes) +
                                               (metadata.empty() ? " bytes" : " bytes together") +
                                               ": at most 4,096 are allowed");
    error.limit = limits::metadata_bytes;
    return error;
}

std::optional<Error> check_lease(std::chrono::milliseconds lease) {
    if (lease >= limits::lease_min && lease <= limits::lease_max) return std::nullopt;
    return invalid_argument("a lease of " + std::to_string(lease.count()) +
                            " ms is out of range: give 100 ms to 30 days (2592000000 ms)");
}

std::optional<std::string_view> parent_path(std::string_view path) {
    if (path.empty()) return std::nullopt;
    // memrchr() is faster than string_view::rfind().
    const void* const slash = memrchr(path.data(), '/', path.size());
    // The element above a path that begins with '/' is empty, and a name must not be empty.
    if (slash == nullptr || slash == path.data()) return std::nullopt;
    return path.substr(0, static_cast<std::size_t>(static_cast<const char*>(slash) - path.data()));
}

}  // namespace rocklock
