#include "wire/json/json_writer.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "base/base64.hpp"
#include "wire/json/eight_bytes.hpp"

namespace rocklock {
namespace {

constexpr std::string_view hex = "0123456789abcdef";

// DEL is allowed in JSON, but it is escaped because terminals interpret it.
constexpr bool is_plain(unsigned char byte) {
    return byte >= 0x20 && byte != '"' && byte != '\\' && byte != 0x7F;
}

// Returns the number of bytes, starting at `from`, that need no escape.
std::size_t plain_length(std::string_view text, std::size_t from) {
    static constexpr auto plain = [] {
        std::array<bool, 256> table{};
        for (std::size_t i = 0; i < table.size(); ++i) {
            table[i] = is_plain(static_cast<unsigned char>(i));
        }
        return table;
    }();
    std::size_t end = from;
    while (end < text.size() && plain[static_cast<unsigned char>(text[end])]) ++end;
    return end - from;
}

// Returns 0 if none of the eight bytes at `text` needs an escape.
std::uint64_t special_bytes(const char* text) {
    using namespace eight_bytes;
    const auto bytes = load(text);
    const auto special =
        below(bytes, 0x20) | equal(bytes, '"') | equal(bytes, '\\') | equal(bytes, 0x7F);
    return special & ~bytes & high_bits;
}

// Returns whether no byte needs an escape. Compares eight bytes at a time.
bool is_plain_text(std::string_view text) {
    constexpr std::size_t step = 8;
    if (text.size() < step) return plain_length(text, 0) == text.size();
    // The last step can overlap the step before it.
    const std::size_t last = text.size() - step;
    std::uint64_t special = special_bytes(text.data() + last);
    for (std::size_t from = 0; from < last; from += step) {
        special |= special_bytes(text.data() + from);
    }
    return special == 0;
}

}  // namespace

void JsonWriter::foreign_key(std::string_view name) {
    quote(name, is_plain_text(name));
    append(':');
    comma_ = false;
}

void JsonWriter::string(std::string_view text) { quote(text, is_plain_text(text)); }

void JsonWriter::decimal_string(const Number& number) {
    separate();
    append('"');
    const auto begin = used_;
    const char* const end = number.write_to(room(Number::max_text_size));
    used_ = begin + static_cast<std::size_t>(end - (text_.data() + begin));
    append('"');
}

void JsonWriter::base64_string(std::string_view bytes) {
    separate();
    append('"');
    std::string text;
    append_base64(text, bytes);
    append(text);
    append('"');
}

void JsonWriter::number(double value) {
    separate();
    std::array<char, 400> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value,
                                   std::chars_format::fixed);
    const std::string_view text(digits.data(), static_cast<std::size_t>(end.ptr - digits.data()));
    append(text);
    if (text.find('.') == std::string_view::npos) append(std::string_view(".0"));
}

void JsonWriter::boolean(bool value) {
    separate();
    append(std::string_view(value ? "true" : "false"));
}

void JsonWriter::null() {
    separate();
    append(std::string_view("null"));
}

void JsonWriter::grow(std::size_t size) { text_.resize(std::max(used_ + size, 2 * text_.size())); }

void JsonWriter::quote(std::string_view text, bool is_plain) {
    if (!is_plain) return quote_with_escapes(text);
    char* end = room(text.size() + (comma_ ? 3 : 2));
    if (comma_) *end++ = ',';
    *end++ = '"';
    if (!text.empty()) std::memcpy(end, text.data(), text.size());
    end[text.size()] = '"';
    comma_ = true;
}

void JsonWriter::quote_with_escapes(std::string_view text) {
    separate();
    append('"');
    for (std::size_t i = 0;; ++i) {
        const auto length = plain_length(text, i);
        append(text.substr(i, length));
        i += length;
        if (i == text.size()) break;
        escape(static_cast<unsigned char>(text[i]));
    }
    append('"');
}

void JsonWriter::escape(unsigned char byte) {
    switch (byte) {
        case '"':
            return append("\\\"");
        case '\\':
            return append("\\\\");
        case '\n':
            return append("\\n");
        case '\r':
            return append("\\r");
        case '\t':
            return append("\\t");
        default:
            append(std::string_view("\\u00"));
            append(hex[byte >> 4]);
            append(hex[byte & 0xF]);
    }
}

}  // namespace rocklock
