// Items and values as bytes, and back: the form in which they are stored.
//
// docs/storage_format.md, "Items", describes each byte. Equal items have equal bytes: attributes
// and members of sets are in order, numbers in one form, lengths in their shortest.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <rocklock/items/attribute_value.hpp>
#include <rocklock/result.hpp>

namespace rocklock {

// The first byte of an item's bytes.
constexpr std::uint8_t item_format = 1;

// At the end of `out`. Items and values keep to the limits of item_limits.hpp.
void append_item(std::string& out, const Item& item);
void append_value(std::string& out, const AttributeValue& value);

// Any bytes at all may be given: what encoding would not have made is an error, and costs no more
// memory than an item of as many bytes may.
//
// Errors: corrupt       damage; the message says at which byte it was noticed
//         newer_format  the item was written by a newer version
Result<Item> decode_item(std::string_view bytes);
Result<AttributeValue> decode_value(std::string_view bytes);

}  // namespace rocklock
