// TagResource, UntagResource, ListTagsOfResource.
#include <algorithm>
#include <utility>

#include "table/schema/tags.hpp"
#include "table/schema/validation.hpp"
#include "table/store/table_store.hpp"

namespace rocklock::table {
namespace {

constexpr std::size_t tags_in_page = 10;

std::optional<Error> check_resource(std::string_view resource) {
    if (is_table_arn(resource)) return std::nullopt;
    return validation_error("Invalid TableArn: Invalid ResourceArn provided as input " +
                            std::string(resource));
}

// "ResourcArn" is DynamoDB's spelling.
Error no_such_arn(const std::string& resource) {
    return {ErrorCode::resource_not_found,
            "Requested resource not found: ResourcArn: " + resource + " not found"};
}

Result<void> with_arn(Result<void> result, const std::string& resource) {
    if (result || result.error().code != ErrorCode::resource_not_found) return result;
    return no_such_arn(resource);
}

}  // namespace

Result<void> TableStore::tag_resource(const TagResource& request) {
    if (auto error = check_resource(request.resource)) return *std::move(error);
    if (request.tags.empty())
        return validation_error("Atleast one Tag needs to be provided as Input.");
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
    if (request.keys.empty())
        return validation_error("Atleast one Tag Key needs to be provided as Input.");
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
    // The token is the last key of the previous page.
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
