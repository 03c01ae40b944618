// Encodes items and values as the bytes that are stored, and decodes them.
//
// docs/storage_format.md, "Items", defines each byte. Equal items have equal bytes: attributes and
// members of sets are sorted, each number has exactly one encoding, and lengths have their shortest
// encoding.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <rocklock/items/attribute_value.hpp>
#include <rocklock/result.hpp>

namespace rocklock {

// The first byte of an encoded item.
constexpr std::uint8_t item_format = 1;

// Append the encoded item or value to `out`. The item or value must satisfy the limits of
// item_limits.hpp.
void append_item(std::string& out, const Item& item);
void append_value(std::string& out, const AttributeValue& value);

// Decode an item or a value. If the bytes are not the result of an encoding, return an error. The
// memory that these functions use is proportional to the number of bytes.
//
// Errors: corrupt       the bytes are damaged; the message names the position
//         newer_format  the item was written by a newer version
Result<Item> decode_item(std::string_view bytes);
Result<AttributeValue> decode_value(std::string_view bytes);
// Decodes an item into `item`, which must be empty. Returns size_bytes() of the item. If the result
// is an error, `item` contains the attributes that were decoded before the damage.
Result<std::size_t> decode_item(std::string_view bytes, Item& item);
// Checks the bytes as decode_item() does. Returns size_bytes() of the item, without constructing
// it.
Result<std::size_t> measure_item(std::string_view bytes);

}  // namespace rocklock
