// Reads usual JSON directly from its text, without a tree of values.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "wire/json/eight_bytes.hpp"

namespace rocklock {

// Reads JSON from the front of a text. Each function skips spaces first, and returns false if the
// text does not continue as the function expects. The text can still be valid JSON.
class PlainJsonReader {
public:
    explicit PlainJsonReader(std::string_view text)
        : at_(text.data()), end_(text.data() + text.size()) {}

    // Returns whether only spaces follow.
    bool done() {
        skip_spaces();
        return at_ == end_;
    }

    // Reads an object. Calls `member` with each key; it must read the value.
    template <typename Member>
    bool object(const Member& member) {
        if (!take('{')) return false;
        if (take('}')) return true;
        do {
            std::string_view key;
            if (!string(key) || !take(':') || !member(key)) return false;
        } while (take(','));
        return take('}');
    }

    // Reads an array. Calls `element` for each element; it must read the element.
    template <typename Element>
    bool array(const Element& element) {
        if (!take('[')) return false;
        if (take(']')) return true;
        do {
            if (!element()) return false;
        } while (take(','));
        return take(']');
    }

    // Reads a string that contains only ASCII characters without escapes.
    bool string(std::string_view& text) {
        if (!take('"')) return false;
        const char* const begin = at_;
        for (; end_ - at_ >= step; at_ += step) {
            if (const auto special = special_bits(eight_bytes::load(at_)); special != 0) {
                if constexpr (std::endian::native == std::endian::little) {
                    at_ += std::countr_zero(special) / 8;
                }
                break;
            }
        }
        while (at_ != end_ && is_plain(*at_)) ++at_;
        text = {begin, static_cast<std::size_t>(at_ - begin)};
        return at_ != end_ && *at_++ == '"';
    }

    bool truth(bool& value) {
        skip_spaces();
        value = at_ != end_ && *at_ == 't';
        return literal(value ? "true" : "false");
    }

    // Reads a number from 0 to 2^53 - 1 that has only digits.
    bool whole_number(std::uint64_t& value) {
        constexpr std::uint64_t max_exact = (std::uint64_t{1} << 53) - 1;
        skip_spaces();
        const char* const begin = at_;
        for (value = 0; at_ != end_ && is_digit(*at_) && value <= max_exact; ++at_) {
            value = value * 10 + static_cast<std::uint64_t>(*at_ - '0');
        }
        if (at_ == begin || value > max_exact || (*begin == '0' && at_ - begin > 1)) return false;
        return at_ == end_ || (*at_ != '.' && *at_ != 'e' && *at_ != 'E');
    }

    bool literal(std::string_view wanted) {
        skip_spaces();
        const std::string_view rest(at_, static_cast<std::size_t>(end_ - at_));
        if (!rest.starts_with(wanted)) return false;
        at_ += wanted.size();
        return true;
    }

    // Skips spaces, and then consumes `wanted`.
    bool take(char wanted) {
        if (at_ == end_ || *at_ != wanted) {
            skip_spaces();
            if (at_ == end_ || *at_ != wanted) return false;
        }
        ++at_;
        return true;
    }

private:
    static constexpr std::ptrdiff_t step = 8;

    static constexpr bool is_space(char byte) {
        return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
    }
    static constexpr bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

    // Returns whether the byte is an ASCII character that stands for itself in a string.
    static constexpr bool is_plain(char byte) {
        const auto code = static_cast<unsigned char>(byte);
        return code >= 0x20 && code < 0x80 && byte != '"' && byte != '\\';
    }

    // Returns 0 if all bytes are plain. Otherwise, the lowest bit that is set is in the first byte
    // that is not plain.
    static constexpr std::uint64_t special_bits(std::uint64_t bytes) {
        using namespace eight_bytes;
        return (bytes | below(bytes, 0x20) | equal(bytes, '"') | equal(bytes, '\\')) & high_bits;
    }

    void skip_spaces() {
        while (at_ != end_ && is_space(*at_)) ++at_;
    }

    const char* at_;
    const char* const end_;
};

}  // namespace rocklock
