#include "item/item_codec.hpp"

#include <algorithm>
#include <bit>

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "item/decimal.hpp"
#include "item/item_limits.hpp"

namespace rocklock {
namespace {

// The head of a value is one byte: the type in the lower four bits, a number in the upper four. If
// the upper four bits are `many`, a varint follows, and the number is `many` plus that varint.
constexpr unsigned type_bits = 4;
constexpr std::uint64_t many = 15;

void append_head(std::string& out, AttributeType type, std::uint64_t number) {
    const auto upper = std::min(number, many) << type_bits;
    append_u8(out, static_cast<std::uint8_t>(upper | static_cast<std::uint64_t>(type)));
    if (number >= many) append_varint(out, number - many);
}

void append_bytes(std::string& out, AttributeType type, std::string_view bytes) {
    append_head(out, type, bytes.size());
    out.append(bytes);
}

// Encodes sign and exponent as one number, which is small if the exponent is near zero.
constexpr std::uint64_t folded(const Number::Parts& parts) {
    const auto exponent = parts.exponent;
    const auto zigzag = exponent < 0 ? -2 * exponent - 1 : 2 * exponent;
    return static_cast<std::uint64_t>(zigzag) << 1 | (parts.negative ? 1 : 0);
}

// Returns none if the number is larger than any encoded exponent.
std::optional<Number::Parts> unfolded(std::uint64_t number) {
    if (number > 0xFFFF) return std::nullopt;
    const auto zigzag = static_cast<int>(number >> 1);
    const auto exponent = (zigzag & 1) != 0 ? -(zigzag + 1) / 2 : zigzag / 2;
    return Number::Parts{.exponent = static_cast<std::int16_t>(exponent),
                         .negative = (number & 1) != 0};
}

// Appends values, each with its head.
struct Encoder {
    std::string& out;
    // The remaining number of nested levels. check_item() has checked the limit before.
    std::size_t levels = max_nesting_depth;

    void value(const AttributeValue& value) const {
        ROCKLOCK_ASSERT(levels > 0);
        std::visit(*this, value.data());
    }
    Encoder within() const { return {out, levels - 1}; }

    void operator()(const std::string& text) const {
        append_bytes(out, AttributeType::string, text);
    }

    void operator()(const Number& number) const {
        const auto& parts = number.parts();
        const auto coefficient = join(parts.high, parts.low);
        const auto size = static_cast<unsigned>(bit_width(coefficient) + 7) / 8;
        append_head(out, AttributeType::number, size);
        if (size == 0) return;
        append_varint(out, folded(parts));
        for (unsigned byte = size; byte-- > 0;) {
            out.push_back(static_cast<char>(low_half(coefficient >> byte * 8) & 0xFF));
        }
    }

    void operator()(const Binary& binary) const {
        append_bytes(out, AttributeType::binary, binary.bytes);
    }
    void operator()(bool truth) const { append_head(out, AttributeType::boolean, truth ? 1 : 0); }
    void operator()(Null /*null*/) const { append_head(out, AttributeType::null, 0); }

    void operator()(const AttributeList& list) const {
        append_head(out, AttributeType::list, list.size());
        for (const auto& element : list) within().value(element);
    }

    void operator()(const AttributeMap& map) const {
        append_head(out, AttributeType::map, map.size());
        within().attributes(map);
    }

    void attributes(const AttributeMap& map) const {
        for (const auto& [name, value] : map) {
            append_string(out, name);
            this->value(value);
        }
    }

    void operator()(const StringSet& set) const {
        set_head(AttributeType::string_set, set.size());
        for (const auto& member : set) append_string(out, member);
    }
    void operator()(const NumberSet& set) const {
        set_head(AttributeType::number_set, set.size());
        for (const auto& member : set) (*this)(member);
    }
    void operator()(const BinarySet& set) const {
        set_head(AttributeType::binary_set, set.size());
        for (const auto& member : set) append_string(out, member.bytes);
    }

    void set_head(AttributeType type, std::size_t size) const {
        // A set that became empty is not a value, so its attribute must have been removed before.
        ROCKLOCK_ASSERT(size > 0);
        append_head(out, type, size);
    }
};

// Decodes values from the front of the bytes. A function that returns false has found damage at the
// beginning of rest().
class Decoder {
public:
    explicit Decoder(std::string_view bytes) : reader_(bytes) {}

    bool item(Item& item) {
        const auto count = reader_.varint();
        return count && attributes(*count, item, max_nesting_depth);
    }

    // Decodes a value with at most this number of levels.
    bool value(AttributeValue& value, std::size_t levels) {
        const auto head = reader_.u8();
        if (!head || levels == 0) return false;
        std::uint64_t number = *head >> type_bits;
        if (number == many) {
            const auto more = reader_.varint();
            if (!more || *more > reader_.rest().size()) return false;
            number += *more;
        }
        const unsigned type = *head & ((1U << type_bits) - 1);
        if (type > static_cast<unsigned>(AttributeType::binary_set)) return false;
        return data(static_cast<AttributeType>(type), number, value, levels);
    }

    bool done() const { return reader_.done(); }
    std::string_view rest() const { return reader_.rest(); }

private:
    bool data(AttributeType type, std::uint64_t number, AttributeValue& value, std::size_t levels) {
        switch (type) {
            case AttributeType::string:
                return bytes(number, value.emplace<std::string>());
            case AttributeType::number:
                return digits(number, value.emplace<Number>());
            case AttributeType::binary:
                return bytes(number, value.emplace<Binary>().bytes);
            case AttributeType::boolean:
                value.emplace<bool>(number == 1);
                return number <= 1;
            case AttributeType::null:
                return number == 0;
            case AttributeType::list:
                return elements(number, value.emplace<AttributeList>(), levels - 1);
            case AttributeType::map:
                return attributes(number, value.emplace<AttributeMap>(), levels - 1);
            case AttributeType::string_set:
                return set<std::string>(number, value);
            case AttributeType::number_set:
                return set<Number>(number, value);
            case AttributeType::binary_set:
                return set<Binary>(number, value);
        }
        return false;
    }

    bool bytes(std::uint64_t size, std::string& bytes) {
        const auto taken = reader_.bytes(static_cast<std::size_t>(size));
        if (taken) bytes.assign(*taken);
        return taken.has_value();
    }

    bool digits(std::uint64_t size, Number& number) {
        if (size == 0) {
            number = Number();
            return true;
        }
        const auto exponent = reader_.varint();
        if (!exponent || size > sizeof(Uint128)) return false;
        auto parts = unfolded(*exponent);
        const auto taken = reader_.bytes(static_cast<std::size_t>(size));
        if (!parts || !taken || taken->front() == '\0') return false;
        Uint128 coefficient = 0;
        for (const char byte : *taken)
            coefficient = coefficient << 8 | static_cast<std::uint8_t>(byte);
        parts->high = high_half(coefficient);
        parts->low = low_half(coefficient);
        const auto made = Number::from_parts(*parts);
        if (made) number = *made;
        return made.has_value();
    }

    bool elements(std::uint64_t count, AttributeList& list, std::size_t levels) {
        list.reserve(at_first(count));
        for (; count > 0; --count) {
            if (!value(list.emplace_back(), levels)) return false;
        }
        return true;
    }

    bool attributes(std::uint64_t count, AttributeMap& map, std::size_t levels) {
        std::vector<Attribute> attributes;
        attributes.reserve(at_first(count));
        for (std::string_view previous; count > 0; --count) {
            const auto name = reader_.string();
            if (!name || *name <= previous) return false;
            auto& attribute = attributes.emplace_back();
            attribute.name.assign(*name);
            if (!value(attribute.value, levels)) return false;
            previous = *name;
        }
        map = AttributeMap(std::move(attributes));
        return true;
    }

    // A count can be damaged, so at most this number of elements is reserved in advance.
    static std::size_t at_first(std::uint64_t count) {
        return static_cast<std::size_t>(std::min<std::uint64_t>(count, 32));
    }

    bool member(std::string& member) {
        const auto taken = reader_.string();
        if (taken) member.assign(*taken);
        return taken.has_value();
    }
    bool member(Binary& binary) { return member(binary.bytes); }
    bool member(Number& number) {
        AttributeValue read;
        if (!value(read, 1) || !read.is<Number>()) return false;
        number = *read.get_if<Number>();
        return true;
    }

    template <typename Member>
    bool set(std::uint64_t count, AttributeValue& value) {
        std::vector<Member> members;
        members.reserve(at_first(count));
        for (; count > 0; --count) {
            if (!member(members.emplace_back())) return false;
        }
        // make() would sort the members. Unsorted members are damage, and duplicates are found by
        // make().
        if (!std::is_sorted(members.begin(), members.end())) return false;
        auto made = AttributeSet<Member>::make(std::move(members));
        if (!made) return false;
        value = *std::move(made);
        return true;
    }

    Reader reader_;
};

Error damage(std::string_view bytes, std::string_view rest) {
    return {ErrorCode::corrupt, "a stored item is damaged at byte " +
                                    std::to_string(bytes.size() - rest.size()) + " of " +
                                    std::to_string(bytes.size())};
}

}  // namespace

void append_value(std::string& out, const AttributeValue& value) { Encoder{out}.value(value); }

void append_item(std::string& out, const Item& item) {
    append_u8(out, item_format);
    append_varint(out, item.size());
    Encoder{out}.attributes(item);
}

Result<Item> decode_item(std::string_view bytes) {
    if (bytes.empty() || bytes.front() == '\0') return damage(bytes, bytes);
    if (static_cast<std::uint8_t>(bytes.front()) > item_format) {
        return Error(ErrorCode::newer_format, "a stored item was written by a newer version");
    }
    Decoder decoder(bytes.substr(1));
    Item item;
    if (!decoder.item(item) || !decoder.done()) return damage(bytes, decoder.rest());
    return item;
}

Result<AttributeValue> decode_value(std::string_view bytes) {
    Decoder decoder(bytes);
    AttributeValue value;
    if (!decoder.value(value, max_nesting_depth) || !decoder.done()) {
        return damage(bytes, decoder.rest());
    }
    return value;
}

}  // namespace rocklock
