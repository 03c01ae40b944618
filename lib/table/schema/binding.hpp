// The mapping from the items of a bound table to resources.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/items/attribute_value.hpp>
#include <rocklock/result.hpp>

namespace rocklock::table {

struct KeyParts;

// Returns a key value as text. Equal values have equal texts; different values of the same type
// have different texts.
std::string text_of_key(const AttributeValue& value);

// A template such as `orders/{OrderId}`: text, and key attributes in braces. Without braces, it is
// one resource for the whole table.
class ResourceTemplate {
public:
    // Errors: invalid_argument  a brace is unmatched, a name in braces is not an attribute of the
    //                           key, or the text is empty
    static Result<ResourceTemplate> parse(std::string_view text, const KeyParts& key);

    const std::string& text() const { return text_; }
    // Returns the resource of an item, given the item or its key.
    std::string resource_of(const AttributeMap& item) const;
    // Returns the resource of all items that have these attributes, or nullopt if it depends on
    // other attributes.
    std::optional<std::string> resource_of_all(const AttributeMap& known) const;

private:
    struct Part {
        std::string text;
        bool is_attribute = false;
    };

    std::string text_;
    std::vector<Part> parts_;
};

struct Binding {
    ResourceTemplate resource;
    bool strict = false;
};

}  // namespace rocklock::table
