// Writes JSON into a string, one value after the other.
//
//     JsonWriter json;
//     json.begin_object();
//     json.key("Grant");
//     json.number(std::uint64_t{7});
//     json.end_object();
//
// The writer inserts the commas. The caller must write a value after every key and an end for every
// begin.
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include <rocklock/items/number.hpp>

namespace rocklock {

class JsonWriter {
public:
    JsonWriter() : text_(usual_bytes, '\0') {}

    void begin_object() { open('{'); }
    void end_object() { close('}'); }
    void begin_array() { open('['); }
    void end_array() { close(']'); }

    // Writes a name that needs no escapes, such as a name of the protocol. Defined here because
    // compilers then copy constant names without a call.
    void key(std::string_view name) {
        char* end = room(name.size() + (comma_ ? 4 : 3));
        if (comma_) *end++ = ',';
        *end++ = '"';
        std::memcpy(end, name.data(), name.size());
        end[name.size()] = '"';
        end[name.size() + 1] = ':';
        comma_ = false;
    }
    // Writes any name, with escapes.
    void foreign_key(std::string_view name);

    void string(std::string_view text);
    // Write a string: the decimal digits of a Number, or bytes in base64.
    void decimal_string(const Number& number);
    void base64_string(std::string_view bytes);
    template <std::integral Number>
    void number(Number value) {
        constexpr std::size_t max_digits = 24;
        separate();
        char* const begin = room(max_digits);
        const char* const end = std::to_chars(begin, begin + max_digits, value).ptr;
        used_ -= max_digits - static_cast<std::size_t>(end - begin);
    }
    // Always writes a decimal point, as in 2.0 and 0.5.
    void number(double value);
    void boolean(bool value);
    void null();

    // Returns a view that is valid until the next call of another function.
    std::string_view text() const { return {text_.data(), used_}; }
    std::string take() {
        text_.resize(used_);
        used_ = 0;
        return std::move(text_);
    }

private:
    // Most responses have at most this number of bytes.
    static constexpr std::size_t usual_bytes = 512;

    // Returns space for this number of bytes at the end of the text.
    char* room(std::size_t size) {
        if (size > text_.size() - used_) grow(size);
        char* const at = text_.data() + used_;
        used_ += size;
        return at;
    }
    void grow(std::size_t size);
    void append(std::string_view text) {
        if (!text.empty()) std::memcpy(room(text.size()), text.data(), text.size());
    }
    void append(char byte) { *room(1) = byte; }

    void separate() {
        if (comma_) append(',');
        comma_ = true;
    }
    void open(char bracket) {
        separate();
        append(bracket);
        comma_ = false;
    }
    void close(char bracket) {
        append(bracket);
        comma_ = true;
    }
    // Appends the separator, and `text` in quotes. Inserts escapes unless `is_plain` is true.
    void quote(std::string_view text, bool is_plain);
    void quote_with_escapes(std::string_view text);
    void escape(unsigned char byte);

    // The text is the first `used_` bytes. The space after it is written with fewer instructions
    // than an append to a std::string takes.
    std::string text_;
    std::size_t used_ = 0;
    bool comma_ = false;
};

}  // namespace rocklock
