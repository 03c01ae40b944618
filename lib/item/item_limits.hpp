// Checks the limits of items in DynamoDB.
//
// See "Quotas in Amazon DynamoDB" and "Naming rules and data types". All errors are
// invalid_argument, with DynamoDB's messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <rocklock/items/attribute_value.hpp>
#include <rocklock/result.hpp>

namespace rocklock {

// The maximum size of an item: the sum of the sizes of its names and values.
constexpr std::size_t max_item_bytes = 400 * 1024;
constexpr std::size_t max_attribute_name_bytes = 65'535;
// container_bytes is the size of a list or a map without its elements. The size of an element is
// element_bytes plus the sizes of its name and its value.
constexpr std::size_t container_bytes = 3;
constexpr std::size_t element_bytes = 1;
// The maximum number of levels in the value of an attribute, including the innermost scalar.
constexpr std::size_t max_nesting_depth = 32;
constexpr std::size_t max_hash_key_bytes = 2'048;
constexpr std::size_t max_range_key_bytes = 1'024;

// Whether an item is the item of a put or the result of an update. The messages differ.
enum class ItemWrite : std::uint8_t { put, update };

enum class KeyRole : std::uint8_t { hash, range };

// A key attribute as the table defines it. Borrows `name`.
struct KeyAttribute {
    std::string_view name;
    // Must be string, number or binary.
    AttributeType type = AttributeType::string;
    KeyRole role = KeyRole::hash;
};

// Checks the limits that apply to items of all tables: those of names, depth and size.
Result<void> check_item(const Item& item, ItemWrite write);

Result<void> check_nesting(const AttributeValue& value);

// Checks that an item to be put has this key attribute, with a valid value.
Result<void> check_key_of_item(const Item& item, const KeyAttribute& part);

// Checks the key in a get, update or delete. It must have exactly the key attributes, each with its
// type and a valid value.
Result<void> check_key(const AttributeMap& key, std::span<const KeyAttribute> parts);

// Checks the size of a key value. The value must have the type of `part`, and must be neither empty
// nor too long.
Result<void> check_key_value(const AttributeValue& value, const KeyAttribute& part);

}  // namespace rocklock
