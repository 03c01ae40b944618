#include "wire/json/item_body.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "item/attribute_map_access.hpp"
#include "wire/json/plain_json.hpp"

namespace rocklock {
namespace {

// Reads attributes and their values. Each function returns false if the text is not as described in
// the header.
class ItemReader : public PlainJsonReader {
public:
    using PlainJsonReader::PlainJsonReader;

    bool attributes(AttributeMap& map) { return attributes(map, max_levels); }

private:
    bool attributes(AttributeMap& map, std::size_t levels) {
        auto& attributes = AttributeMapAccess::attributes(map);
        attributes.reserve(usual_attributes);
        const bool read = object([&](std::string_view name) {
            auto& attribute = attributes.emplace_back();
            attribute.name.append(name);
            return value(attribute.value, levels);
        });
        return read && put_in_order(attributes);
    }

    static constexpr std::size_t usual_attributes = 8;
    // The time to sort more attributes would grow with the square of their number.
    static constexpr std::size_t max_attributes = 64;
    // Deeper values are rare.
    static constexpr std::size_t max_levels = 8;

    // Sorts the attributes by name. Returns false if a name occurs twice, or if there are too many
    // attributes.
    static bool put_in_order(std::vector<Attribute>& attributes) {
        // Sorts pointers, because attributes are larger and more expensive to move.
        std::array<Attribute*, max_attributes> order;
        if (attributes.size() > order.size()) return false;
        bool was_in_order = true;
        for (std::size_t i = 0; i < attributes.size(); ++i) {
            Attribute* const attribute = &attributes[i];
            std::size_t at = i;
            for (; at > 0; --at) {
                const int compared = attribute->name.compare(order[at - 1]->name);
                if (compared == 0) return false;
                if (compared > 0) break;
                order[at] = order[at - 1];
            }
            order[at] = attribute;
            was_in_order = was_in_order && at == i;
        }
        if (was_in_order) return true;
        std::vector<Attribute> sorted;
        sorted.reserve(attributes.size());
        for (std::size_t i = 0; i < attributes.size(); ++i) {
            sorted.push_back(std::move(*order[i]));
        }
        attributes = std::move(sorted);
        return true;
    }

    // Reads an object with exactly one member, whose key is a type.
    bool value(AttributeValue& value, std::size_t levels) {
        std::string_view type;
        return take('{') && string(type) && take(':') && typed(type, value, levels) && take('}');
    }

    bool typed(std::string_view type, AttributeValue& value, std::size_t levels) {
        if (type.size() == 1) {
            switch (type.front()) {
                case 'S':
                    return text(value);
                case 'N':
                    return number(value);
                case 'L':
                    return levels > 1 && list(value.emplace<AttributeList>(), levels - 1);
                case 'M':
                    return levels > 1 && attributes(value.emplace<AttributeMap>(), levels - 1);
                default:
                    return false;
            }
        }
        if (type == "BOOL") return truth(value.emplace<bool>());
        // `value` is NULL already.
        return type == "NULL" && literal("true");
    }

    bool text(AttributeValue& value) {
        std::string_view text;
        if (!string(text)) return false;
        value.emplace<std::string>().append(text);
        return true;
    }

    bool number(AttributeValue& value) {
        std::string_view text;
        if (!string(text)) return false;
        const auto number = Number::parse(text);
        if (number) value.emplace<Number>(*number);
        return number.has_value();
    }

    bool list(AttributeList& list, std::size_t levels) {
        return array([&] { return value(list.emplace_back(), levels); });
    }
};

bool is_usual_table_name(std::string_view name) {
    constexpr std::string_view punctuation = "_.-";
    return name.size() >= 3 && name.size() <= 255 &&
           std::all_of(name.begin(), name.end(), [=](char byte) {
               return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                      (byte >= '0' && byte <= '9') || punctuation.find(byte) != punctuation.npos;
           });
}

}  // namespace

std::optional<ItemBody> read_usual_item_body(std::string_view body, std::string_view attributes_key,
                                             bool may_be_consistent) {
    std::optional<ItemBody> read(std::in_place);
    ItemReader reader(body);
    bool has_table = false;
    bool has_attributes = false;
    bool has_consistent = false;
    const bool is_usual = reader.object([&](std::string_view key) {
        if (key == "TableName") {
            std::string_view name;
            if (std::exchange(has_table, true) || !reader.string(name)) return false;
            read->table = name;
            return is_usual_table_name(name);
        }
        if (key == attributes_key) {
            return !std::exchange(has_attributes, true) && reader.attributes(read->attributes);
        }
        return may_be_consistent && key == "ConsistentRead" &&
               !std::exchange(has_consistent, true) && reader.truth(read->consistent);
    });
    if (!is_usual || !has_table || !has_attributes || !reader.done()) read.reset();
    return read;
}

}  // namespace rocklock
