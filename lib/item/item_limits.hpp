// What an item may be: the limits of DynamoDB, and what it says of an item beyond them.
//
// docs: "Quotas in Amazon DynamoDB", "Naming rules and data types". The texts of errors are the
// service's; all are invalid_argument.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <rocklock/items/attribute_value.hpp>
#include <rocklock/result.hpp>

namespace rocklock {

// Names and values together.
constexpr std::size_t max_item_bytes = 400 * 1024;
constexpr std::size_t max_attribute_name_bytes = 65'535;
// What a list or a map counts, and each of its elements besides itself and its name.
constexpr std::size_t container_bytes = 3;
constexpr std::size_t element_bytes = 1;
// Levels of an attribute's value; the scalar counts.
constexpr std::size_t max_nesting_depth = 32;
constexpr std::size_t max_hash_key_bytes = 2'048;
constexpr std::size_t max_range_key_bytes = 1'024;

// Whether an item was given or came of an update: the texts differ.
enum class ItemWrite : std::uint8_t { put, update };

enum class KeyRole : std::uint8_t { hash, range };

// An attribute of a key, as the table declares it. `name` is borrowed.
struct KeyAttribute {
    std::string_view name;
    // string, number or binary.
    AttributeType type = AttributeType::string;
    KeyRole role = KeyRole::hash;
};

// All that holds for an item whatever its table: names, depth, size.
Result<void> check_item(const Item& item, ItemWrite write);

Result<void> check_nesting(const AttributeValue& value);

// The item to put has this part of its key, with a value that may be one.
Result<void> check_key_of_item(const Item& item, const KeyAttribute& part);

// What Get, Update and Delete name an item by: the parts of the key, nothing else, each of its
// type.
Result<void> check_key(const AttributeMap& key, std::span<const KeyAttribute> parts);

// A value that has the type already: neither empty nor too long.
Result<void> check_key_value(const AttributeValue& value, const KeyAttribute& part);

}  // namespace rocklock
