#include "item/item_codec.hpp"

#include <algorithm>
#include <bit>

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "item/attribute_map_access.hpp"
#include "item/decimal.hpp"
#include "item/item_limits.hpp"
#include "item/item_parser.hpp"

namespace rocklock {

namespace {

void append_head(ByteWriter& out, AttributeType type, std::uint64_t number) {
    const auto upper = std::min(number, many_in_head) << type_bits_in_head;
    append_u8(out, static_cast<std::uint8_t>(upper | static_cast<std::uint64_t>(type)));
    if (number >= many_in_head) append_varint(out, number - many_in_head);
}

void append_bytes(ByteWriter& out, AttributeType type, std::string_view bytes) {
    append_head(out, type, bytes.size());
    out.bytes(bytes);
}

// Encodes sign and exponent as one number, which is small if the exponent is near zero.
constexpr std::uint64_t folded(const Number::Parts& parts) {
    const auto exponent = parts.exponent;
    const auto zigzag = exponent < 0 ? -2 * exponent - 1 : 2 * exponent;
    return static_cast<std::uint64_t>(zigzag) << 1 | (parts.negative ? 1 : 0);
}

// Appends values, each with its head.
struct Encoder {
    ByteWriter& out;
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
            out.byte(static_cast<char>(low_half(coefficient >> byte * 8) & 0xFF));
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

// Receivers of ItemParser that construct values in place, so that no value is moved.
struct ListBuilder;
struct MapBuilder;
template <typename Member>
struct SetBuilder;

struct ValueBuilder {
    // Must be a NULL value at first.
    AttributeValue& value;

    // Appends, because the constructor can throw, so that emplace() would move its result.
    void string(std::string_view text) const { value.emplace<std::string>().append(text); }
    void binary(std::string_view bytes) const { value.emplace<Binary>().bytes.append(bytes); }
    void number(const Number& number) const { value.emplace<Number>(number); }
    void boolean(bool truth) const { value.emplace<bool>(truth); }
    void null() const {}
    ListBuilder list(std::uint64_t count) const;
    MapBuilder map(std::uint64_t count) const;
    SetBuilder<std::string> string_set(std::uint64_t count) const;
    SetBuilder<Number> number_set(std::uint64_t count) const;
    SetBuilder<Binary> binary_set(std::uint64_t count) const;
};

// A count can be damaged, so at most this number of elements is allocated in advance.
std::size_t at_first(std::uint64_t count) {
    return static_cast<std::size_t>(std::min<std::uint64_t>(count, 32));
}

struct ListBuilder {
    AttributeList& list;

    ValueBuilder element() const { return {list.emplace_back()}; }
    void end() const {}
};

struct MapBuilder {
    std::vector<Attribute>& attributes;

    MapBuilder(AttributeMap& map, std::uint64_t count)
        : attributes(AttributeMapAccess::attributes(map)) {
        attributes.reserve(at_first(count));
    }

    ValueBuilder attribute(std::string_view name) const {
        auto& attribute = attributes.emplace_back();
        attribute.name.append(name);
        return {attribute.value};
    }
    void end() const {}
};

template <typename Member>
struct SetBuilder {
    AttributeValue& value;
    std::vector<Member> members;

    SetBuilder(AttributeValue& value_of_set, std::uint64_t count) : value(value_of_set) {
        members.reserve(at_first(count));
    }

    void member(const Number& number) { members.push_back(number); }
    void member(std::string_view bytes) {
        if constexpr (std::is_same_v<Member, Binary>) {
            members.emplace_back().bytes.assign(bytes);
        } else {
            members.emplace_back(bytes);
        }
    }
    void end() {
        auto made = AttributeSet<Member>::make(std::move(members));
        ROCKLOCK_ASSERT(made);
        value = *std::move(made);
    }
};

ListBuilder ValueBuilder::list(std::uint64_t count) const {
    auto& list = value.emplace<AttributeList>();
    list.reserve(at_first(count));
    return {list};
}
MapBuilder ValueBuilder::map(std::uint64_t count) const {
    return {value.emplace<AttributeMap>(), count};
}
SetBuilder<std::string> ValueBuilder::string_set(std::uint64_t count) const {
    return {value, count};
}
SetBuilder<Number> ValueBuilder::number_set(std::uint64_t count) const { return {value, count}; }
SetBuilder<Binary> ValueBuilder::binary_set(std::uint64_t count) const { return {value, count}; }

// The receiver that keeps nothing.
struct NoValue {
    void string(std::string_view /*text*/) const {}
    void binary(std::string_view /*bytes*/) const {}
    void number(const Number& /*number*/) const {}
    void boolean(bool /*truth*/) const {}
    void null() const {}
    NoValue list(std::uint64_t /*count*/) const { return {}; }
    NoValue map(std::uint64_t /*count*/) const { return {}; }
    NoValue string_set(std::uint64_t /*count*/) const { return {}; }
    NoValue number_set(std::uint64_t /*count*/) const { return {}; }
    NoValue binary_set(std::uint64_t /*count*/) const { return {}; }
    NoValue element() const { return {}; }
    NoValue attribute(std::string_view /*name*/) const { return {}; }
    void member(const Number& /*number*/) const {}
    void member(std::string_view /*bytes*/) const {}
    void end() const {}
};

Error damage(std::string_view bytes, std::string_view rest) {
    return {ErrorCode::corrupt, "a stored item is damaged at byte " +
                                    std::to_string(bytes.size() - rest.size()) + " of " +
                                    std::to_string(bytes.size())};
}

// Returns the size of the item.
template <typename MapOf>
Result<std::size_t> parse(std::string_view bytes, const MapOf& map_of) {
    if (bytes.empty() || bytes.front() == '\0') return damage(bytes, bytes);
    if (static_cast<std::uint8_t>(bytes.front()) > item_format) {
        return Error(ErrorCode::newer_format, "a stored item was written by a newer version");
    }
    ItemParser parser(bytes.substr(1));
    if (!parser.item(map_of) || !parser.done()) return damage(bytes, parser.rest());
    return parser.size_bytes();
}

}  // namespace

void append_value(std::string& out, const AttributeValue& value) {
    ByteWriter writer(out);
    Encoder{writer}.value(value);
    writer.flush();
}

void append_item(std::string& out, const Item& item) {
    ByteWriter writer(out);
    append_u8(writer, item_format);
    append_varint(writer, item.size());
    Encoder{writer}.attributes(item);
    writer.flush();
}

Result<std::size_t> decode_item(std::string_view bytes, Item& item) {
    const auto builder = [&item](std::uint64_t count) { return MapBuilder(item, count); };
    return parse(bytes, builder);
}

Result<std::size_t> measure_item(std::string_view bytes) {
    return parse(bytes, [](std::uint64_t /*count*/) { return NoValue(); });
}

Result<Item> decode_item(std::string_view bytes) {
    Item item;
    if (auto size = decode_item(bytes, item); !size) return std::move(size).error();
    return item;
}

Result<AttributeValue> decode_value(std::string_view bytes) {
    ItemParser parser(bytes);
    AttributeValue value;
    if (!parser.value(ValueBuilder{value}, max_nesting_depth) || !parser.done()) {
        return damage(bytes, parser.rest());
    }
    return value;
}

}  // namespace rocklock
