#include "item/key_codec.hpp"

#include <algorithm>
#include <array>

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "item/decimal.hpp"

namespace rocklock {
namespace {

// The first byte of a value. The tags of numbers are ordered by sign.
enum class Tag : std::uint8_t { negative = 1, zero = 2, positive = 3, string = 4, binary = 5 };

void append_tag(std::string& out, Tag tag) { append_u8(out, static_cast<std::uint8_t>(tag)); }

// In strings and binaries, a zero byte is written as 0, 255. The terminator is 0, 1, which is
// smaller than any other continuation, so a prefix sorts before longer values.
constexpr char escaped_zero[] = {'\x00', '\xFF'};
constexpr char end_of_bytes[] = {'\x00', '\x01'};

void append_escaped(std::string& out, std::string_view bytes) {
    for (;;) {
        const auto zero = bytes.find('\0');
        out.append(bytes.substr(0, zero));
        if (zero == std::string_view::npos) return;
        out.append(escaped_zero, sizeof escaped_zero);
        bytes.remove_prefix(zero + 1);
    }
}

std::optional<std::string> take_escaped(std::string_view& bytes) {
    std::string text;
    for (auto rest = bytes;;) {
        const auto zero = rest.find('\0');
        if (zero == std::string_view::npos || zero + 1 == rest.size()) return std::nullopt;
        text.append(rest.substr(0, zero));
        const char next = rest[zero + 1];
        rest.remove_prefix(zero + 2);
        if (next == end_of_bytes[1]) {
            bytes = rest;
            return text;
        }
        if (next != escaped_zero[1]) return std::nullopt;
        text.push_back('\0');
    }
}

// Numbers are encoded in base 100, with digit pairs counted from the decimal point: one byte for
// the position of the first pair, then one byte for each pair. The byte of a pair is 2 * pair, plus
// 1 if more pairs follow. The last byte is therefore even, and smaller than the same pair with
// successors. For negative numbers, all these bytes are inverted.
constexpr int lowest_pair = half_down(Number::min_magnitude);
constexpr std::size_t max_pairs = 20;

struct Pairs {
    // The position of the first pair: 0 to 127.
    std::uint8_t position = 0;
    std::size_t size = 0;
    std::array<std::uint8_t, max_pairs> pairs{};
};

Pairs pairs_of(const Number::Parts& parts) {
    const DigitText digits(join(parts.high, parts.low));
    const int magnitude = parts.exponent + static_cast<int>(digits.size) - 1;
    Pairs made;
    made.position = static_cast<std::uint8_t>(half_down(magnitude) - lowest_pair);
    const auto digit = [&](std::size_t at) { return at < digits.size ? digits.text[at] - '0' : 0; };
    std::size_t at = 0;
    // If the exponent of the first digit is even, the digit is alone in its pair.
    if ((magnitude & 1) == 0) made.pairs[made.size++] = static_cast<std::uint8_t>(digit(at++));
    for (; at < digits.size; at += 2) {
        made.pairs[made.size++] = static_cast<std::uint8_t>(digit(at) * 10 + digit(at + 1));
    }
    return made;
}

void append_number(std::string& out, const Number& number) {
    if (number.is_zero()) return append_tag(out, Tag::zero);
    append_tag(out, number.is_negative() ? Tag::negative : Tag::positive);
    const std::uint8_t inversion = number.is_negative() ? 0xFF : 0;
    const auto pairs = pairs_of(number.parts());
    append_u8(out, pairs.position ^ inversion);
    for (std::size_t i = 0; i < pairs.size; ++i) {
        const auto more = i + 1 < pairs.size ? 1U : 0U;
        append_u8(out, static_cast<std::uint8_t>((pairs.pairs[i] * 2U + more) ^ inversion));
    }
}

// Returns none if the pairs are not the encoding of a number.
std::optional<Number> number_of(const Pairs& pairs, bool negative) {
    if (pairs.position > 127 || pairs.pairs[0] == 0) return std::nullopt;
    const auto last = pairs.pairs[pairs.size - 1];
    // Whether the last pair has only one significant digit, its first one.
    const bool half = last % 10 == 0;
    const auto digits = pairs.size * 2 - (pairs.pairs[0] < 10 ? 1 : 0) - (half ? 1 : 0);
    if (digits > Number::max_digits) return std::nullopt;
    Uint128 coefficient = 0;
    for (std::size_t i = 0; i + 1 < pairs.size; ++i)
        coefficient = coefficient * 100 + pairs.pairs[i];
    coefficient = half ? coefficient * 10 + last / 10 : coefficient * 100 + last;
    const int exponent =
        (pairs.position + lowest_pair - static_cast<int>(pairs.size) + 1) * 2 + (half ? 1 : 0);
    return Number::from_parts({.high = high_half(coefficient),
                               .low = low_half(coefficient),
                               .exponent = static_cast<std::int16_t>(exponent),
                               .negative = negative});
}

std::optional<Number> take_number(std::string_view& bytes, bool negative) {
    const std::uint8_t inversion = negative ? 0xFF : 0;
    Reader reader(bytes);
    const auto position = reader.u8();
    if (!position) return std::nullopt;
    Pairs pairs;
    pairs.position = *position ^ inversion;
    for (bool more = true; more;) {
        const auto byte = reader.u8();
        if (!byte || pairs.size == max_pairs) return std::nullopt;
        const auto doubled = static_cast<std::uint8_t>(*byte ^ inversion);
        if (doubled / 2 > 99) return std::nullopt;
        pairs.pairs[pairs.size++] = doubled / 2;
        more = (doubled & 1) != 0;
    }
    const auto number = number_of(pairs, negative);
    if (number) bytes = reader.rest();
    return number;
}

// The hash that orders the partitions. It is a part of the storage format and must not change.
std::uint32_t hash_of(std::string_view bytes) {
    constexpr std::uint64_t odd = 0xD6E8'FEB8'6659'FD93;
    std::uint64_t hash = bytes.size();
    const auto mix = [&](std::uint64_t word) {
        hash = (hash ^ word) * odd;
        hash ^= hash >> 32;
    };
    while (!bytes.empty()) {
        std::uint64_t word = 0;
        const auto size = std::min<std::size_t>(bytes.size(), sizeof word);
        for (std::size_t i = size; i-- > 0;) word = word << 8 | static_cast<std::uint8_t>(bytes[i]);
        mix(word);
        bytes.remove_prefix(size);
    }
    mix(0);
    return static_cast<std::uint32_t>(hash * odd >> 32);
}

std::optional<AttributeValue> take_value(Tag tag, std::string_view& bytes) {
    switch (tag) {
        case Tag::zero:
            return AttributeValue(Number());
        case Tag::negative:
        case Tag::positive:
            if (const auto number = take_number(bytes, tag == Tag::negative)) return *number;
            return std::nullopt;
        case Tag::string:
            if (auto text = take_escaped(bytes)) return *std::move(text);
            return std::nullopt;
        case Tag::binary:
            if (auto text = take_escaped(bytes)) return Binary{*std::move(text)};
            return std::nullopt;
    }
    return std::nullopt;
}

}  // namespace

void append_key_value(std::string& out, const AttributeValue& value) {
    if (const auto* number = value.get_if<Number>()) return append_number(out, *number);
    append_key_prefix(out, value);
    out.append(end_of_bytes, sizeof end_of_bytes);
}

void append_key_prefix(std::string& out, const AttributeValue& value) {
    if (const auto* text = value.get_if<std::string>()) {
        append_tag(out, Tag::string);
        return append_escaped(out, *text);
    }
    const auto* binary = value.get_if<Binary>();
    ROCKLOCK_ASSERT(binary != nullptr);
    append_tag(out, Tag::binary);
    append_escaped(out, binary->bytes);
}

void append_partition(std::string& out, const AttributeValue& value) {
    const auto begin = out.size();
    append_u32(out, 0);
    append_key_value(out, value);
    const auto hash =
        hash_prefix(hash_of(std::string_view(out).substr(begin + sizeof(std::uint32_t))));
    out.replace(begin, hash.size(), hash);
}

std::optional<AttributeValue> take_key_value(std::string_view& bytes) {
    if (bytes.empty()) return std::nullopt;
    auto rest = bytes.substr(1);
    auto value = take_value(static_cast<Tag>(bytes.front()), rest);
    if (value) bytes = rest;
    return value;
}

std::optional<AttributeValue> take_partition(std::string_view& bytes) {
    if (bytes.size() < sizeof(std::uint32_t)) return std::nullopt;
    auto rest = bytes.substr(sizeof(std::uint32_t));
    const auto after_hash = rest;
    auto value = take_key_value(rest);
    if (!value) return value;
    const auto own = after_hash.substr(0, after_hash.size() - rest.size());
    if (!bytes.starts_with(hash_prefix(hash_of(own)))) return std::nullopt;
    bytes = rest;
    return value;
}

std::string end_of_prefix(std::string_view prefix) {
    while (prefix.ends_with('\xFF')) prefix.remove_suffix(1);
    std::string end(prefix);
    if (!end.empty()) end.back() = static_cast<char>(static_cast<std::uint8_t>(end.back()) + 1);
    return end;
}

HashRange hashes_of_segment(std::uint32_t segment, std::uint32_t segments) {
    ROCKLOCK_ASSERT(segment < segments);
    constexpr std::uint64_t all = std::uint64_t{1} << 32;
    const auto begin = [&](std::uint64_t number) {
        return (number * all + segments - 1) / segments;
    };
    return {static_cast<std::uint32_t>(begin(segment)),
            static_cast<std::uint32_t>(begin(std::uint64_t{segment} + 1) - 1)};
}

std::string hash_prefix(std::uint32_t hash) {
    std::string prefix;
    append_u32(prefix, hash);
    return prefix;
}

}  // namespace rocklock
