#include "daemon/http/usual_request.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "base/equal_ignoring_case.hpp"
#include "wire/json/eight_bytes.hpp"

namespace rocklock {
namespace {

constexpr std::string_view line_end = "\r\n";
constexpr std::string_view begin_of_line = "POST ";
constexpr std::string_view end_of_line = " HTTP/1.1\r\n";

// The general parser limits the size of longer headers.
constexpr std::size_t max_head_bytes = 8u << 10;

enum class Use : std::uint8_t { member, length, connection, ignored };

struct Header {
    std::string_view name;
    Use use = Use::ignored;
    std::string HttpRequest::*member = nullptr;
};

constexpr auto usual_headers = std::to_array<Header>({
    {"Host", Use::member, &HttpRequest::host},
    {"X-Amz-Target", Use::member, &HttpRequest::operation},
    {"Content-Type", Use::member, &HttpRequest::content_type},
    {"X-Amz-Date", Use::member, &HttpRequest::amz_date},
    {"Authorization", Use::member, &HttpRequest::authorization},
    {"Accept", Use::member, &HttpRequest::accept},
    {"Content-Length", Use::length},
    {"Connection", Use::connection},
    {"User-Agent", Use::ignored},
    {"X-Amz-User-Agent", Use::ignored},
    {"X-Amz-Security-Token", Use::ignored},
    {"X-Amz-Content-SHA256", Use::ignored},
    {"Accept-Encoding", Use::ignored},
    {"amz-sdk-invocation-id", Use::ignored},
    {"amz-sdk-request", Use::ignored},
});
constexpr std::size_t index_of_length = 6;
static_assert(usual_headers[index_of_length].use == Use::length);

const Header* find_header(std::string_view name) {
    const auto* found =
        std::find_if(usual_headers.begin(), usual_headers.end(), [&](const Header& header) {
            // Most clients send the names in this case.
            return header.name.size() == name.size() &&
                   (header.name == name || equal_ignoring_case(header.name, name));
        });
    return found == usual_headers.end() ? nullptr : found;
}

// Returns whether all bytes are printable ASCII characters or spaces.
bool is_printable(std::string_view text) {
    constexpr std::size_t step = 8;
    if (text.size() < step) {
        return std::all_of(text.begin(), text.end(),
                           [](char byte) { return byte >= ' ' && byte <= '~'; });
    }
    std::uint64_t special = 0;
    const auto add = [&](std::size_t from) {
        using namespace eight_bytes;
        const auto bytes = load(text.data() + from);
        special |= bytes | below(bytes, 0x20) | equal(bytes, 0x7F);
    };
    // The last step can overlap the step before it.
    add(text.size() - step);
    for (std::size_t from = 0; from + step < text.size(); from += step) add(from);
    return (special & eight_bytes::high_bits) == 0;
}

bool is_usual_target_character(char byte) {
    constexpr std::string_view punctuation = "/?=&-_.%";
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || punctuation.find(byte) != punctuation.npos;
}

// Takes the first line. Returns false if it is not usual.
bool take_request_line(std::string_view& rest, HttpRequest& request) {
    if (!rest.starts_with(begin_of_line)) return false;
    rest.remove_prefix(begin_of_line.size());
    const auto* const end = std::find_if_not(rest.begin(), rest.end(), is_usual_target_character);
    const auto target = rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
    rest.remove_prefix(target.size());
    if (!target.starts_with('/') || !rest.starts_with(end_of_line)) return false;
    rest.remove_prefix(end_of_line.size());
    request.method = "POST";
    request.target = target;
    return true;
}

// Takes one header. Returns false if it is not usual. `length` is set to its value if it is the
// Content-Length.
bool take_header(std::string_view& rest, HttpRequest& request, std::uint32_t& seen,
                 std::size_t& length) {
    const auto colon = rest.substr(0, max_head_bytes).find(':');
    const auto* const header = colon == rest.npos ? nullptr : find_header(rest.substr(0, colon));
    if (header == nullptr) return false;
    const auto bit = 1U << (header - usual_headers.data());
    if ((seen & bit) != 0) return false;
    seen |= bit;
    rest.remove_prefix(colon + 1);
    if (rest.starts_with(' ')) rest.remove_prefix(1);
    const auto end = rest.substr(0, max_head_bytes).find(line_end.front());
    if (end == rest.npos || !rest.substr(end).starts_with(line_end)) return false;
    const auto value = rest.substr(0, end);
    // The general parser removes spaces around a value.
    if (value.empty() || value.front() == ' ' || value.back() == ' ' || !is_printable(value)) {
        return false;
    }
    rest.remove_prefix(end + line_end.size());
    switch (header->use) {
        case Use::member:
            request.*header->member = value;
            return true;
        case Use::length: {
            const auto* const last = value.data() + value.size();
            const auto read = std::from_chars(value.data(), last, length);
            return read.ec == std::errc() && read.ptr == last && length <= max_request_body;
        }
        case Use::connection:
            return equal_ignoring_case(value, "keep-alive");
        case Use::ignored:
            return true;
    }
    return false;
}

}  // namespace

std::optional<std::size_t> read_usual_request(std::string_view input, HttpRequest& request) {
    std::string_view rest = input;
    if (!take_request_line(rest, request)) return std::nullopt;
    std::uint32_t seen = 0;
    std::size_t length = 0;
    while (!rest.starts_with(line_end)) {
        if (!take_header(rest, request, seen, length)) return std::nullopt;
    }
    rest.remove_prefix(line_end.size());
    const bool has_length = (seen >> index_of_length & 1) != 0;
    if (!has_length || length > rest.size()) return std::nullopt;
    if (input.size() - rest.size() > max_head_bytes) return std::nullopt;
    request.body = rest.substr(0, length);
    return input.size() - rest.size() + length;
}

}  // namespace rocklock
