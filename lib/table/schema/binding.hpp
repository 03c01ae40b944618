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

// Returns a key value as text. Equal values have equal texts, and different values of the same type
// have different texts.
std::string text_of_key(const AttributeValue& value);

// A template such as `orders/{OrderId}`, which consists of text and of names of key attributes in
// braces. A template without braces maps all items of the table to one resource.
class ResourceTemplate {
public:
    // Errors: invalid_argument  the text is empty, contains a NUL byte or has too many bytes
    //                           outside of the braces; a brace is unmatched; or a name in braces is
    //                           not an attribute of the key
    static Result<ResourceTemplate> parse(std::string_view text, const KeyParts& key);

    const std::string& text() const { return text_; }
    // Returns the resource of an item. `item` is the whole item or its key.
    std::string resource_of(const AttributeMap& item) const;
    // If `known` contains every attribute of the template, returns the resource of all items that
    // have these values. Otherwise, returns nullopt.
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
