// Parses encoded items and values, and passes each part to a receiver.
//
// The receiver determines the result: decode_item() constructs an Item, and measure_item() only
// computes the size. ItemParser checks every byte itself, so that all receivers accept and refuse
// the same bytes.
//
// A receiver is passed by value and consists of these types:
//
//     Value    string(text), binary(bytes), number(number), boolean(truth) and null(), one of which
//              is called; or one of the following functions, each of which returns a receiver for
//              the elements: list(count), map(count), string_set(count), number_set(count),
//              binary_set(count)
//     List     element() returns the Value for the next element
//     Map      attribute(name) returns the Value for the next attribute; names ascend strictly
//     Set      member(member) receives a string_view or a Number; members ascend strictly
//     all three also have end(), which is called after the last element
//
// `count` can be damaged, so a receiver must not allocate memory for so many elements in advance.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <rocklock/items/attribute_value.hpp>

#include "base/bytes.hpp"
#include "item/decimal.hpp"
#include "item/item_limits.hpp"

namespace rocklock {

// The head of a value is one byte: the type in the lower four bits, a number in the upper four. If
// the upper four bits are `many_in_head`, a varint follows, and the number is `many_in_head` plus
// that varint.
constexpr unsigned type_bits_in_head = 4;
constexpr std::uint64_t many_in_head = 15;

// A function that returns false has found damage at the beginning of rest().
//
// Lifetime: borrows the bytes.
class ItemParser {
public:
    explicit ItemParser(std::string_view bytes)
        : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

    // Parses the attributes of an item.
    template <typename MapOf>
    bool item(const MapOf& map_of) {
        std::uint64_t count = 0;
        return varint(count) && attributes(count, map_of(count), max_nesting_depth);
    }

    // Parses a value with at most this number of levels.
    template <typename Value>
    bool value(Value value, std::size_t levels) {
        AttributeType type{};
        std::uint64_t number = 0;
        if (levels == 0 || !head(type, number)) return false;
        switch (type) {
            case AttributeType::string:
                return bytes(number, [&](std::string_view text) { value.string(text); });
            case AttributeType::number:
                return this->number(number, [&](const Number& read) { value.number(read); });
            case AttributeType::binary:
                return bytes(number, [&](std::string_view binary) { value.binary(binary); });
            case AttributeType::boolean:
                size_bytes_ += 1;
                value.boolean(number == 1);
                return number <= 1;
            case AttributeType::null:
                size_bytes_ += 1;
                value.null();
                return number == 0;
            case AttributeType::list:
                return elements(number, value.list(number), levels - 1);
            case AttributeType::map:
                size_bytes_ += container_bytes + static_cast<std::size_t>(number) * element_bytes;
                return attributes(number, value.map(number), levels - 1);
            case AttributeType::string_set:
                return byte_members(number, value.string_set(number));
            case AttributeType::number_set:
                return number_members(number, value.number_set(number));
            case AttributeType::binary_set:
                return byte_members(number, value.binary_set(number));
        }
        return false;
    }

    bool done() const { return at_ == end_; }
    std::string_view rest() const { return {at_, left()}; }
    // The size of what was parsed, as size_bytes() computes it.
    std::size_t size_bytes() const { return size_bytes_; }

private:
    std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }

    bool varint(std::uint64_t& value) {
        if (at_ != end_ && static_cast<std::uint8_t>(*at_) < 0x80) {
            value = static_cast<std::uint8_t>(*at_++);
            return true;
        }
        Reader reader(rest());
        const auto read = reader.varint();
        at_ = end_ - reader.rest().size();
        if (read) value = *read;
        return read.has_value();
    }

    bool head(AttributeType& type, std::uint64_t& number) {
        if (at_ == end_) return false;
        const auto head = static_cast<std::uint8_t>(*at_++);
        type = static_cast<AttributeType>(head & ((1U << type_bits_in_head) - 1));
        number = head >> type_bits_in_head;
        if (number == many_in_head) {
            std::uint64_t more = 0;
            if (!varint(more) || more > left()) return false;
            number += more;
        }
        return type <= AttributeType::binary_set;
    }

    // Takes this number of bytes. Returns false if there are fewer.
    bool take(std::uint64_t size, std::string_view& taken) {
        if (size > left()) return false;
        taken = {at_, static_cast<std::size_t>(size)};
        at_ += size;
        return true;
    }

    // Takes a length and this number of bytes.
    bool string(std::string_view& taken) {
        std::uint64_t size = 0;
        return varint(size) && take(size, taken);
    }

    template <typename Receive>
    bool bytes(std::uint64_t size, const Receive& receive) {
        std::string_view taken;
        if (!take(size, taken)) return false;
        size_bytes_ += taken.size();
        receive(taken);
        return true;
    }

    template <typename Receive>
    bool number(std::uint64_t size, const Receive& receive) {
        if (size == 0) {
            size_bytes_ += Number().size_bytes();
            receive(Number());
            return true;
        }
        std::uint64_t exponent = 0;
        std::string_view taken;
        if (!varint(exponent) || size > sizeof(Uint128)) return false;
        auto parts = unfold(exponent);
        if (!take(size, taken) || !parts || taken.front() == '\0') return false;
        if (size > sizeof(std::uint64_t)) {
            const auto high_size = taken.size() - sizeof(std::uint64_t);
            parts->high = big_endian(taken.substr(0, high_size));
            taken.remove_prefix(high_size);
        }
        parts->low = big_endian(taken);
        const auto made = Number::from_parts(*parts);
        if (!made) return false;
        size_bytes_ += made->size_bytes();
        receive(*made);
        return true;
    }

    static std::uint64_t big_endian(std::string_view bytes) {
        std::uint64_t value = 0;
        for (const char byte : bytes) value = value << 8 | static_cast<std::uint8_t>(byte);
        return value;
    }

    // Returns none if the number is larger than any encoded exponent.
    static std::optional<Number::Parts> unfold(std::uint64_t number) {
        if (number > 0xFFFF) return std::nullopt;
        const auto zigzag = static_cast<int>(number >> 1);
        const auto exponent = (zigzag & 1) != 0 ? -(zigzag + 1) / 2 : zigzag / 2;
        return Number::Parts{.exponent = static_cast<std::int16_t>(exponent),
                             .negative = (number & 1) != 0};
    }

    template <typename List>
    bool elements(std::uint64_t count, List list, std::size_t levels) {
        size_bytes_ += container_bytes + static_cast<std::size_t>(count) * element_bytes;
        for (; count > 0; --count) {
            if (!value(list.element(), levels)) return false;
        }
        list.end();
        return true;
    }

    template <typename Map>
    bool attributes(std::uint64_t count, Map map, std::size_t levels) {
        for (std::string_view previous; count > 0; --count) {
            std::string_view name;
            if (!string(name) || name <= previous) return false;
            size_bytes_ += name.size();
            if (!value(map.attribute(name), levels)) return false;
            previous = name;
        }
        map.end();
        return true;
    }

    // Parses the members of a set of strings or of binary values.
    template <typename Set>
    bool byte_members(std::uint64_t count, Set set) {
        std::optional<std::string_view> previous;
        if (count == 0) return false;
        for (; count > 0; --count) {
            std::string_view member;
            if (!string(member) || (previous && member <= *previous)) return false;
            size_bytes_ += member.size();
            set.member(member);
            previous = member;
        }
        set.end();
        return true;
    }

    template <typename Set>
    bool number_members(std::uint64_t count, Set set) {
        std::optional<Number> previous;
        if (count == 0) return false;
        for (; count > 0; --count) {
            AttributeType type{};
            std::uint64_t size = 0;
            if (!head(type, size) || type != AttributeType::number) return false;
            Number member;
            if (!number(size, [&member](const Number& read) { member = read; })) return false;
            if (previous && member <= *previous) return false;
            set.member(member);
            previous = member;
        }
        set.end();
        return true;
    }

    const char* at_;
    const char* const end_;
    std::size_t size_bytes_ = 0;
};

}  // namespace rocklock
