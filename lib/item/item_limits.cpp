#include "item/item_limits.hpp"

#include <string>

#include "base/invalid_argument.hpp"

namespace rocklock {
namespace {

Error too_deep() {
    return invalid_argument(
        "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels "
        "beyond supported limit");
}

// Visits an item once and collects its size and its violations of limits.
class Survey {
public:
    void walk(const AttributeMap& map, std::size_t levels) {
        for (const auto& [name, value] : map) {
            bytes_ += name.size();
            empty_name_ = empty_name_ || name.empty();
            long_name_ = long_name_ || name.size() > max_attribute_name_bytes;
            walk(value, levels);
        }
    }

    std::size_t bytes() const { return bytes_; }
    bool empty_name() const { return empty_name_; }
    bool long_name() const { return long_name_; }
    bool too_deep() const { return too_deep_; }

private:
    void walk(const AttributeValue& value, std::size_t levels) {
        if (levels == 0) {
            too_deep_ = true;
        } else if (const auto* map = value.get_if<AttributeMap>()) {
            bytes_ += container_bytes + map->size() * element_bytes;
            walk(*map, levels - 1);
        } else if (const auto* list = value.get_if<AttributeList>()) {
            bytes_ += container_bytes + list->size() * element_bytes;
            for (const auto& element : *list) walk(element, levels - 1);
        } else {
            bytes_ += size_bytes(value);
        }
    }

    std::size_t bytes_ = 0;
    bool empty_name_ = false;
    bool long_name_ = false;
    bool too_deep_ = false;
};

// The size of a key value, and the name of its type in the message for an empty value. Numbers are
// never empty or too long.
struct KeyBytes {
    std::size_t size = 1;
    std::string_view type;
};

KeyBytes key_bytes(const AttributeValue& value) {
    if (const auto* text = value.get_if<std::string>()) return {text->size(), "string"};
    if (const auto* binary = value.get_if<Binary>()) return {binary->bytes.size(), "binary"};
    return {};
}

}  // namespace

Result<void> check_item(const Item& item, ItemWrite write) {
    Survey survey;
    survey.walk(item, max_nesting_depth);
    if (survey.too_deep()) return too_deep();
    if (survey.empty_name()) return invalid_argument("Empty attribute name");
    if (survey.long_name()) {
        return invalid_argument("Attribute name is too large, must be less than 65536 bytes");
    }
    if (survey.bytes() <= max_item_bytes) return {};
    return invalid_argument(write == ItemWrite::put
                                ? "Item size has exceeded the maximum allowed size"
                                : "Item size to update has exceeded the maximum allowed size");
}

Result<void> check_nesting(const AttributeValue& value) {
    if (nesting_depth(value) <= max_nesting_depth) return {};
    return too_deep();
}

Result<void> check_key_of_item(const Item& item, const KeyAttribute& part) {
    const auto* value = item.find(part.name);
    if (value != nullptr && value->type() == part.type) return check_key_value(*value, part);
    const std::string prefix = "One or more parameter values were invalid: ";
    const std::string name(part.name);
    if (value == nullptr)
        return invalid_argument(prefix + "Missing the key " + name + " in the item");
    return invalid_argument(prefix + "Type mismatch for key " + name +
                            " expected: " + std::string(to_string(part.type)) +
                            " actual: " + std::string(to_string(value->type())));
}

Result<void> check_key(const AttributeMap& key, std::span<const KeyAttribute> parts) {
    bool matches = key.size() == parts.size();
    for (const auto& part : parts) {
        const auto* value = key.find(part.name);
        matches = matches && value != nullptr && value->type() == part.type;
    }
    if (!matches) return invalid_argument("The provided key element does not match the schema");
    for (const auto& part : parts) {
        if (auto checked = check_key_value(*key.find(part.name), part); !checked) return checked;
    }
    return {};
}

Result<void> check_key_value(const AttributeValue& value, const KeyAttribute& part) {
    const auto bytes = key_bytes(value);
    if (bytes.size == 0) {
        return invalid_argument(
            "One or more parameter values are not valid. The AttributeValue for a key attribute "
            "cannot contain an empty " +
            std::string(bytes.type) + " value. Key: " + std::string(part.name));
    }
    if (part.role == KeyRole::hash && bytes.size > max_hash_key_bytes) {
        return invalid_argument(
            "One or more parameter values were invalid: Size of hashkey has exceeded the maximum "
            "size limit of2048 bytes");
    }
    if (part.role == KeyRole::range && bytes.size > max_range_key_bytes) {
        return invalid_argument(
            "One or more parameter values were invalid: Aggregated size of all range keys has "
            "exceeded the size limit of 1024 bytes");
    }
    return {};
}

}  // namespace rocklock
