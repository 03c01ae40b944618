// Attribute values as requests write them, `{"S": "text"}`, for tests that read such.
#pragma once

#include <optional>
#include <string_view>

#include <boost/json/value.hpp>

#include <rocklock/items/attribute_value.hpp>

namespace rocklock::proof {

// Nothing where it is none: a number that is no number, a set with a member twice, no type.
std::optional<AttributeValue> value_from_json(const boost::json::value& json);
std::optional<Item> item_from_json(const boost::json::value& json);

}  // namespace rocklock::proof
