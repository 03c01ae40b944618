// Writes JSON, one value after the other, into one string.
//
//     JsonWriter json;
//     json.begin_object();
//     json.key("Grant");
//     json.number(std::uint64_t{7});
//     json.end_object();
//
// Commas are its own affair; that every key gets a value and every begin its end is the caller's.
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

    // Names of members are ours: nothing in them needs an escape.
    void key(std::string_view name);
    // A name that is not ours.
    void foreign_key(std::string_view name);

    void string(std::string_view text);
    // A number of any length, and any bytes, as strings.
    void decimal_string(const Number& number);
    void base64_string(std::string_view bytes);
    template <std::integral Number>
    void number(Number value) {
        separate();
        text_ += std::to_string(value);
    }
    // With a point: 2.0, 0.5.
    void number(double value);
    void boolean(bool value);
    void null();

    const std::string& text() const { return text_; }
    std::string take() { return std::move(text_); }

private:
    // Most answers are no longer.
    static constexpr std::size_t usual_bytes = 256;

    void separate();
    void open(char bracket);
    void close(char bracket);
    void quote(std::string_view text);
    void escape(unsigned char byte);

    std::string text_;
    bool comma_ = false;
};

}  // namespace rocklock
