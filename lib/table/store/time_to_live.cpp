// UpdateTimeToLive, DescribeTimeToLive.
#include "table/schema/validation.hpp"
#include "table/store/table_store.hpp"

namespace rocklock::table {
namespace {

constexpr std::size_t max_attribute_bytes = 255;

std::optional<Error> check_attribute(const std::string& attribute) {
    const std::string path = "timeToLiveSpecification.attributeName";
    if (attribute.empty()) {
        return constraint(attribute, path, "Member must have length greater than or equal to 1");
    }
    if (attribute.size() <= max_attribute_bytes) return std::nullopt;
    return constraint(attribute, path, "Member must have length less than or equal to 255");
}

// Returns true: a valid request always changes the definition.
Result<bool> change(Schema& schema, const UpdateTimeToLive& request) {
    if (schema.binding) {
        return validation_error(
            "Table " + schema.name +
            " is bound to resources, and another time to live would delete items without a check "
            "of their locks: unbind the table, change its time to live, and bind it again");
    }
    const std::string& current = schema.ttl_attribute;
    if (current.empty() && !request.enabled)
        return validation_error("TimeToLive is already disabled");
    if (!current.empty() && current != request.attribute) {
        return validation_error(
            "TimeToLive is active on a different AttributeName: current AttributeName is " +
            current);
    }
    if (!current.empty() && request.enabled)
        return validation_error("TimeToLive is already enabled");
    schema.ttl_attribute = request.enabled ? request.attribute : "";
    return true;
}

}  // namespace

Result<UpdateTimeToLive> TableStore::update_time_to_live(const UpdateTimeToLive& request) {
    if (auto error = check_table(request.table, "tableName")) return *std::move(error);
    if (auto error = check_attribute(request.attribute)) return *std::move(error);
    auto changed =
        change_schema(request.table, [&](Schema& schema) { return change(schema, request); });
    if (!changed) return std::move(changed).error();
    return request;
}

Result<TimeToLive> TableStore::describe_time_to_live(const std::string& table) {
    if (auto error = check_table(table, "tableName")) return *std::move(error);
    const auto schema = catalog_.find(table);
    if (!schema) return no_such_table(table);
    return TimeToLive{!schema->ttl_attribute.empty(), schema->ttl_attribute};
}

}  // namespace rocklock::table
