#include "table/schema/tags.hpp"

#include <algorithm>
#include <utility>

#include "table/schema/validation.hpp"

namespace rocklock::table {
namespace {

constexpr std::size_t max_tags = 50;
constexpr std::size_t max_key_bytes = 128;
constexpr std::size_t max_value_bytes = 256;

// Returns the number of characters, not bytes, of a UTF-8 text.
std::size_t length(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char byte) {
        return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
    }));
}

// Returns whether the text consists of ASCII letters, digits, blanks and DynamoDB's special
// characters. All other Unicode characters are accepted as letters.
bool is_tag_text(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char byte) {
        const auto code = static_cast<unsigned char>(byte);
        return code >= 0x80 || (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z') ||
               (code >= '0' && code <= '9') ||
               std::string_view(" _.:/=+-@").find(byte) != std::string_view::npos;
    });
}

std::optional<Error> check_tag(const std::string& key, const std::string& value,
                               std::size_t position) {
    const std::string path = "tags." + std::to_string(position) + ".member.";
    if (key.empty()) {
        return constraint(key, path + "key", "Member must have length greater than or equal to 1");
    }
    if (length(key) > max_key_bytes) {
        return constraint(key, path + "key", "Member must have length less than or equal to 128");
    }
    if (length(value) > max_value_bytes) {
        return constraint(value, path + "value",
                          "Member must have length less than or equal to 256");
    }
    if (!is_tag_text(key)) return validation_error("The Tag Key provided is invalid, Key: " + key);
    if (!is_tag_text(value))
        return validation_error("The Tag Value provided is invalid, Value: " + value);
    if (!key.starts_with("aws:")) return std::nullopt;
    return validation_error("Tag Key cannot be prefixed with aws:, Key: " + key);
}

}  // namespace

std::optional<Error> check_tags(const Tags& tags) {
    std::size_t position = 0;
    for (const auto& [key, value] : tags) {
        if (auto error = check_tag(key, value, ++position)) return error;
    }
    return std::nullopt;
}

std::optional<Error> check_tag_count(const Tags& tags) {
    if (tags.size() <= max_tags) return std::nullopt;
    return validation_error("Number of Tags exceed the current limit for the provided ResourceArn");
}

}  // namespace rocklock::table
