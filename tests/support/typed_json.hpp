// Reads attribute values in the form of DynamoDB requests, such as `{"S": "text"}`.
#pragma once

#include <optional>
#include <string_view>

#include <boost/json/value.hpp>

#include <rocklock/items/attribute_value.hpp>

namespace rocklock::proof {

// Return nullopt if the JSON is not a valid value or item, for example if a number is invalid or a
// set contains a member twice.
std::optional<AttributeValue> value_from_json(const boost::json::value& json);
std::optional<Item> item_from_json(const boost::json::value& json);

}  // namespace rocklock::proof
