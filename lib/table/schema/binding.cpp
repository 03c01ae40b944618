#include "table/schema/binding.hpp"

#include <algorithm>
#include <span>

#include <rocklock/types.hpp>

#include "base/base64url.hpp"
#include "table/schema/schema.hpp"
#include "table/schema/validation.hpp"

namespace rocklock::table {
namespace {

constexpr std::size_t usual_name_bytes = 63;

void append_text_of_key(std::string& out, const AttributeValue& value) {
    if (const auto* text = value.get_if<std::string>()) {
        out += *text;
    } else if (const auto* number = value.get_if<Number>()) {
        out += number->to_string();
    } else {
        const std::string& bytes = value.get_if<Binary>()->bytes;
        out +=
            base64url_encode({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
    }
}

Error bad_template(std::string_view text, const std::string& why) {
    return validation_error("The template of resources \"" + std::string(text) + "\" " + why);
}

}  // namespace

std::string text_of_key(const AttributeValue& value) {
    std::string text;
    append_text_of_key(text, value);
    return text;
}

Result<ResourceTemplate> ResourceTemplate::parse(std::string_view text, const KeyParts& key) {
    if (text.empty()) return validation_error("The template of resources is empty: give a name");
    ResourceTemplate result;
    result.text_ = text;
    std::size_t written = 0;
    for (std::string_view rest = text; !rest.empty();) {
        const auto brace = std::min(rest.find_first_of("{}"), rest.size());
        if (brace > 0) result.parts_.push_back({std::string(rest.substr(0, brace)), false});
        written += brace;
        rest.remove_prefix(brace);
        if (rest.empty()) break;
        const auto end = rest.find('}');
        if (rest.front() == '}' || end == std::string_view::npos) {
            return bad_template(text, "has an unmatched brace");
        }
        const auto name = rest.substr(1, end - 1);
        if (!key.has(name)) {
            std::string names(key.hash.name);
            if (key.range) names.append(" and ").append(key.range->name);
            return bad_template(
                text, "names \"" + std::string(name) +
                          "\", which is not an attribute of the table's key: the key is " + names);
        }
        result.parts_.push_back({std::string(name), true});
        rest.remove_prefix(end + 1);
    }
    if (written > limits::name_bytes || text.find('\0') != std::string_view::npos) {
        return validation_error(
            "The template of resources cannot produce valid names: a name has at most 1,024 bytes "
            "and no NUL byte");
    }
    return result;
}

std::string ResourceTemplate::resource_of(const AttributeMap& item) const {
    std::string name;
    name.reserve(usual_name_bytes);
    for (const Part& part : parts_) {
        if (part.is_attribute) {
            append_text_of_key(name, *item.find(part.text));
        } else {
            name += part.text;
        }
    }
    return name;
}

std::optional<std::string> ResourceTemplate::resource_of_all(const AttributeMap& known) const {
    const bool enough = std::all_of(parts_.begin(), parts_.end(), [&](const Part& part) {
        return !part.is_attribute || known.find(part.text) != nullptr;
    });
    return enough ? std::optional(resource_of(known)) : std::nullopt;
}

}  // namespace rocklock::table
