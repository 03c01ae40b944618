// Which resource an item of a bound table belongs to.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/items/attribute_value.hpp>
#include <rocklock/result.hpp>

namespace rocklock::table {

struct KeyParts;

// Of a key: equal values have equal texts, and others of the same type have others.
std::string text_of_key(const AttributeValue& value);

// `orders/{OrderId}`: text, and attributes of the key in braces. Without braces it is one name for
// the whole table.
class ResourceTemplate {
public:
    // Errors: invalid_argument  a brace without its other one, braces around what is no attribute
    //                           of the key, or no text at all
    static Result<ResourceTemplate> parse(std::string_view text, const KeyParts& key);

    const std::string& text() const { return text_; }
    // Of an item, or of its key.
    std::string resource_of(const AttributeMap& item) const;
    // Of all items that have these attributes; nothing where it depends on others.
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
