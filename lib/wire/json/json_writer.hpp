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

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <rocklock/items/number.hpp>

namespace rocklock {

class JsonWriter {
public:
    JsonWriter() { text_.reserve(usual_bytes); }

    void begin_object() { open('{'); }
    void end_object() { close('}'); }
    void begin_array() { open('['); }
    void end_array() { close(']'); }

    // Writes a name that needs no escapes, such as a name of the protocol.
    void key(std::string_view name);
    // Writes any name, with escapes.
    void foreign_key(std::string_view name);

    void string(std::string_view text);
    // Write a string: the decimal digits of a Number, or bytes in base64.
    void decimal_string(const Number& number);
    void base64_string(std::string_view bytes);
    template <std::integral Number>
    void number(Number value) {
        separate();
        text_ += std::to_string(value);
    }
    // Always writes a decimal point, as in 2.0 and 0.5.
    void number(double value);
    void boolean(bool value);
    void null();

    const std::string& text() const { return text_; }
    std::string take() { return std::move(text_); }

private:
    // Most responses have at most this number of bytes.
    static constexpr std::size_t usual_bytes = 256;
    static constexpr std::size_t short_bytes = 60;

    void separate();
    void open(char bracket);
    void close(char bracket);
    void quote(std::string_view text);
    // Appends the separator, then `text` in quotes, and then a colon if `text` is a key. `text`
    // must have at most `short_bytes` bytes and need no escapes.
    void quote_short(std::string_view text, bool is_key);
    void escape(unsigned char byte);

    std::string text_;
    bool comma_ = false;
};

}  // namespace rocklock
