#include "support/typed_json.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

namespace rocklock::proof {

namespace {

using boost::json::value;

std::optional<std::string> decoded(std::string_view base64) {
    static constexpr std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string bytes;
    std::uint32_t bits = 0;
    int count = 0;
    for (const char c : base64) {
        if (c == '=') break;
        const std::size_t digit = digits.find(c);
        if (digit == std::string_view::npos) return std::nullopt;
        bits = bits << 6 | static_cast<std::uint32_t>(digit);
        count += 6;
        if (count < 8) continue;
        count -= 8;
        bytes.push_back(static_cast<char>(bits >> count & 0xFF));
    }
    return bytes;
}

std::optional<std::string> text_of(const value& json) {
    if (!json.is_string()) return std::nullopt;
    return std::string(json.get_string());
}

std::optional<Number> number_of(const value& json) {
    const auto text = text_of(json);
    if (!text) return std::nullopt;
    const auto number = Number::parse(*text);
    return number ? std::optional(*number) : std::nullopt;
}

std::optional<Binary> binary_of(const value& json) {
    const auto text = text_of(json);
    if (!text) return std::nullopt;
    auto bytes = decoded(*text);
    return bytes ? std::optional(Binary{*std::move(bytes)}) : std::nullopt;
}

template <typename Member, typename Read>
std::optional<AttributeValue> set_of(const value& json, Read read) {
    if (!json.is_array()) return std::nullopt;
    std::vector<Member> members;
    for (const value& element : json.get_array()) {
        auto member = read(element);
        if (!member) return std::nullopt;
        members.push_back(*std::move(member));
    }
    auto set = AttributeSet<Member>::make(std::move(members));
    return set ? std::optional(AttributeValue(*std::move(set))) : std::nullopt;
}

std::optional<AttributeValue> list_of(const value& json) {
    if (!json.is_array()) return std::nullopt;
    AttributeList list;
    for (const value& element : json.get_array()) {
        auto member = value_from_json(element);
        if (!member) return std::nullopt;
        list.push_back(*std::move(member));
    }
    return AttributeValue(std::move(list));
}

template <typename T>
std::optional<AttributeValue> wrapped(std::optional<T> content) {
    return content ? std::optional(AttributeValue(*std::move(content))) : std::nullopt;
}

}  // namespace

std::optional<AttributeValue> value_from_json(const value& json) {
    if (!json.is_object() || json.get_object().size() != 1) return std::nullopt;
    const auto& member = *json.get_object().begin();
    const auto type = parse_attribute_type(member.key());
    if (!type) return std::nullopt;
    const value& content = member.value();
    switch (*type) {
        case AttributeType::string:
            return wrapped(text_of(content));
        case AttributeType::number:
            return wrapped(number_of(content));
        case AttributeType::binary:
            return wrapped(binary_of(content));
        case AttributeType::boolean:
            if (!content.is_bool()) return std::nullopt;
            return AttributeValue(content.get_bool());
        case AttributeType::null:
            return content == true ? std::optional(AttributeValue()) : std::nullopt;
        case AttributeType::list:
            return list_of(content);
        case AttributeType::map:
            return wrapped(item_from_json(content));
        case AttributeType::string_set:
            return set_of<std::string>(content, text_of);
        case AttributeType::number_set:
            return set_of<Number>(content, number_of);
        case AttributeType::binary_set:
            return set_of<Binary>(content, binary_of);
    }
    return std::nullopt;
}

std::optional<Item> item_from_json(const value& json) {
    if (!json.is_object()) return std::nullopt;
    std::vector<Attribute> attributes;
    for (const auto& member : json.get_object()) {
        auto content = value_from_json(member.value());
        if (!content) return std::nullopt;
        attributes.push_back({std::string(member.key()), *std::move(content)});
    }
    return Item(std::move(attributes));
}

}  // namespace rocklock::proof
