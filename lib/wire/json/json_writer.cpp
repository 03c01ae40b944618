#include "wire/json/json_writer.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/base64.hpp"

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

}  // namespace

void JsonWriter::key(std::string_view name) {
    if (name.size() <= short_bytes) {
        quote_short(name, true);
    } else {
        separate();
        quote(name);
        text_ += ':';
    }
    comma_ = false;
}

void JsonWriter::foreign_key(std::string_view name) {
    if (name.size() <= short_bytes && plain_length(name, 0) == name.size()) {
        quote_short(name, true);
    } else {
        separate();
        quote(name);
        text_ += ':';
    }
    comma_ = false;
}

void JsonWriter::string(std::string_view text) {
    if (text.size() <= short_bytes && plain_length(text, 0) == text.size()) {
        return quote_short(text, false);
    }
    separate();
    quote(text);
}

void JsonWriter::decimal_string(const Number& number) {
    separate();
    text_ += '"';
    number.append_to(text_);
    text_ += '"';
}

void JsonWriter::base64_string(std::string_view bytes) {
    separate();
    text_ += '"';
    append_base64(text_, bytes);
    text_ += '"';
}

void JsonWriter::number(double value) {
    separate();
    std::array<char, 400> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value,
                                   std::chars_format::fixed);
    const std::string_view text(digits.data(), static_cast<std::size_t>(end.ptr - digits.data()));
    text_ += text;
    if (text.find('.') == std::string_view::npos) text_ += ".0";
}

void JsonWriter::boolean(bool value) {
    separate();
    text_ += value ? "true" : "false";
}

void JsonWriter::null() {
    separate();
    text_ += "null";
}

void JsonWriter::separate() {
    if (comma_) text_ += ',';
    comma_ = true;
}

void JsonWriter::open(char bracket) {
    separate();
    text_ += bracket;
    comma_ = false;
}

void JsonWriter::close(char bracket) {
    text_ += bracket;
    comma_ = true;
}

// Appends everything at once, which is faster than character by character.
void JsonWriter::quote_short(std::string_view text, bool is_key) {
    std::array<char, short_bytes + 4> buffer;
    char* end = buffer.data();
    if (comma_) *end++ = ',';
    *end++ = '"';
    end = std::copy(text.begin(), text.end(), end);
    *end++ = '"';
    if (is_key) *end++ = ':';
    text_.append(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
    comma_ = true;
}

void JsonWriter::quote(std::string_view text) {
    text_ += '"';
    for (std::size_t i = 0;; ++i) {
        const auto length = plain_length(text, i);
        text_.append(text, i, length);
        i += length;
        if (i == text.size()) break;
        escape(static_cast<unsigned char>(text[i]));
    }
    text_ += '"';
}

void JsonWriter::escape(unsigned char byte) {
    switch (byte) {
        case '"':
            text_ += "\\\"";
            break;
        case '\\':
            text_ += "\\\\";
            break;
        case '\n':
            text_ += "\\n";
            break;
        case '\r':
            text_ += "\\r";
            break;
        case '\t':
            text_ += "\\t";
            break;
        default:
            text_ += "\\u00";
            text_ += hex[byte >> 4];
            text_ += hex[byte & 0xF];
    }
}

}  // namespace rocklock
