#include "support/typed_json.hpp"

#include "wire/json/attribute_json.hpp"

namespace rocklock::proof {

std::optional<AttributeValue> value_from_json(const boost::json::value& json) {
    auto read = read_attribute_value(json);
    return read ? std::optional(*std::move(read)) : std::nullopt;
}

std::optional<Item> item_from_json(const boost::json::value& json) {
    auto read = read_item(json);
    return read ? std::optional(*std::move(read)) : std::nullopt;
}

}  // namespace rocklock::proof
