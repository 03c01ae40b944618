// TagResource, UntagResource, ListTagsOfResource.
#include "table/tags.hpp"

#include <algorithm>
#include <utility>

#include "table/faults.hpp"
#include "table/table_store.hpp"

namespace rocklock::table {
namespace {

constexpr std::size_t most_tags = 50;
constexpr std::size_t longest_key = 128;
constexpr std::size_t longest_value = 256;
constexpr std::size_t tags_in_page = 10;

// Characters, not bytes, of text in UTF-8.
std::size_t length(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char byte) {
        return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
    }));
}

// Of ASCII letters, digits, blanks and the service's special characters. All other characters of
// Unicode are taken for letters.
bool is_tag_text(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char byte) {
        const auto code = static_cast<unsigned char>(byte);
        return code >= 0x80 || (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z') ||
               (code >= '0' && code <= '9') ||
               std::string_view(" _.:/=+-@").find(byte) != std::string_view::npos;
    });
}

std::optional<Error> check_tag(const std::string& key, const std::string& value,
                               std::size_t place) {
    const std::string path = "tags." + std::to_string(place) + ".member.";
    if (key.empty()) {
        return constraint(key, path + "key", "Member must have length greater than or equal to 1");
    }
    if (length(key) > longest_key) {
        return constraint(key, path + "key", "Member must have length less than or equal to 128");
    }
    if (length(value) > longest_value) {
        return constraint(value, path + "value",
                          "Member must have length less than or equal to 256");
    }
    if (!is_tag_text(key)) return fault("The Tag Key provided is invalid, Key: " + key);
    if (!is_tag_text(value)) return fault("The Tag Value provided is invalid, Value: " + value);
    if (!key.starts_with("aws:")) return std::nullopt;
    return fault("Tag Key cannot be prefixed with aws:, Key: " + key);
}

std::optional<Error> check_resource(std::string_view resource) {
    if (is_table_arn(resource)) return std::nullopt;
    return fault("Invalid TableArn: Invalid ResourceArn provided as input " +
                 std::string(resource));
}

// The word is the service's.
Error no_such_arn(const std::string& resource) {
    return {ErrorCode::resource_not_found,
            "Requested resource not found: ResourcArn: " + resource + " not found"};
}

Result<void> with_arn(Result<void> result, const std::string& resource) {
    if (result || result.error().code != ErrorCode::resource_not_found) return result;
    return no_such_arn(resource);
}

}  // namespace

std::optional<Error> check_tags(const Tags& tags) {
    std::size_t place = 0;
    for (const auto& [key, value] : tags) {
        if (auto error = check_tag(key, value, ++place)) return error;
    }
    return std::nullopt;
}

std::optional<Error> check_tag_count(const Tags& tags) {
    if (tags.size() <= most_tags) return std::nullopt;
    return fault("Number of Tags exceed the current limit for the provided ResourceArn");
}

Result<void> TableStore::tag_resource(const TagResource& request) {
    if (auto error = check_resource(request.resource)) return *std::move(error);
    if (request.tags.empty()) return fault("Atleast one Tag needs to be provided as Input.");
    if (auto error = check_tags(request.tags)) return *std::move(error);
    const auto change = [&](Schema& schema) -> Result<bool> {
        const Tags before = schema.tags;
        for (const auto& [key, value] : request.tags) schema.tags[key] = value;
        if (auto error = check_tag_count(schema.tags)) return *std::move(error);
        return schema.tags != before;
    };
    return with_arn(change_schema(request.resource, change), request.resource);
}

Result<void> TableStore::untag_resource(const UntagResource& request) {
    if (auto error = check_resource(request.resource)) return *std::move(error);
    if (request.keys.empty()) return fault("Atleast one Tag Key needs to be provided as Input.");
    const auto change = [&](Schema& schema) -> Result<bool> {
        std::size_t removed = 0;
        for (const std::string& key : request.keys) removed += schema.tags.erase(key);
        return removed > 0;
    };
    return with_arn(change_schema(request.resource, change), request.resource);
}

Result<TagPage> TableStore::list_tags_of_resource(const ListTagsOfResource& request) {
    if (auto error = check_resource(request.resource)) return *std::move(error);
    const auto schema = catalog_.find(request.resource);
    if (!schema) return no_such_arn(request.resource);
    // The token is the last key of the page before.
    auto at =
        request.next_token ? schema->tags.upper_bound(*request.next_token) : schema->tags.begin();
    TagPage page;
    for (; at != schema->tags.end(); ++at) {
        if (page.tags.size() == tags_in_page) {
            page.next_token = page.tags.rbegin()->first;
            break;
        }
        page.tags.insert(*at);
    }
    return page;
}

}  // namespace rocklock::table
