#include "expression/parameters_json.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>

#include "expression/legacy.hpp"
#include "support/typed_json.hpp"

namespace rocklock::proof {

namespace {

using boost::json::object;
using boost::json::value;

// A member that is there and not null.
const value* member(const object& json, std::string_view name) {
    const value* found = json.if_contains(name);
    return found && !found->is_null() ? found : nullptr;
}

class Reader {
public:
    std::optional<ExpressionParameters> read(const object& request) {
        ExpressionParameters result;
        read_text(request, "UpdateExpression", result.update);
        read_text(request, "ConditionExpression", result.condition);
        read_text(request, "KeyConditionExpression", result.key_condition);
        read_text(request, "FilterExpression", result.filter);
        read_text(request, "ProjectionExpression", result.projection);
        read_placeholders(request, result.placeholders);
        read_updates(request, result.attribute_updates);
        read_expected(request, result.expected);
        read_conditional_operator(request, result.conditional_operator);
        read_conditions(request, "KeyConditions", result.key_conditions);
        read_conditions(request, "QueryFilter", result.attribute_filter);
        read_conditions(request, "ScanFilter", result.attribute_filter);
        read_attributes(request, result.attributes_to_get);
        return valid_ ? std::optional(std::move(result)) : std::nullopt;
    }

private:
    AttributeValue value_of(const value& json) {
        auto found = value_from_json(json);
        if (!found) valid_ = false;
        return found ? *std::move(found) : AttributeValue();
    }
    std::string text_of(const value& json) {
        if (!json.is_string()) valid_ = false;
        return json.is_string() ? std::string(json.get_string()) : std::string();
    }
    const object* object_of(const object& request, std::string_view name) {
        const value* found = member(request, name);
        if (found && !found->is_object()) valid_ = false;
        return found && found->is_object() ? &found->get_object() : nullptr;
    }
    void read_text(const object& request, std::string_view name, std::optional<std::string>& out) {
        if (const value* found = member(request, name)) out = text_of(*found);
    }
    std::vector<AttributeValue> values_of(const value& list) {
        std::vector<AttributeValue> values;
        if (!list.is_array()) valid_ = false;
        if (list.is_array()) {
            for (const value& element : list.get_array()) values.push_back(value_of(element));
        }
        return values;
    }
    ComparisonOperator comparison_of(const value& json) {
        const std::string name = text_of(json);
        for (int i = 0; i <= static_cast<int>(ComparisonOperator::begins_with); ++i) {
            const auto comparison = static_cast<ComparisonOperator>(i);
            if (expression::to_string(comparison) == name) return comparison;
        }
        valid_ = false;
        return ComparisonOperator::eq;
    }
    void read_placeholders(const object& request, Placeholders& out);
    void read_updates(const object& request, std::optional<std::vector<AttributeUpdate>>& out);
    void read_expected(const object& request, std::optional<std::vector<ExpectedAttribute>>& out);
    void read_conditional_operator(const object& request, std::optional<ConditionalOperator>& out);
    void read_conditions(const object& request, std::string_view name,
                         std::optional<std::vector<AttributeCondition>>& out);
    void read_attributes(const object& request, std::optional<std::vector<std::string>>& out);

    bool valid_ = true;
};

void Reader::read_placeholders(const object& request, Placeholders& out) {
    if (const object* names = object_of(request, "ExpressionAttributeNames")) {
        out.names.emplace();
        for (const auto& entry : *names) {
            out.names->push_back({std::string(entry.key()), text_of(entry.value())});
        }
    }
    if (const object* values = object_of(request, "ExpressionAttributeValues")) {
        out.values.emplace();
        for (const auto& entry : *values) {
            out.values->push_back({std::string(entry.key()), value_of(entry.value())});
        }
    }
}

void Reader::read_updates(const object& request, std::optional<std::vector<AttributeUpdate>>& out) {
    using Action = AttributeUpdate::Action;
    const object* updates = object_of(request, "AttributeUpdates");
    if (!updates) return;
    out.emplace();
    for (const auto& entry : *updates) {
        const object& json = entry.value().as_object();
        AttributeUpdate update{std::string(entry.key()), Action::put, {}};
        if (const value* given = member(json, "Value")) update.value = value_of(*given);
        const value* action = member(json, "Action");
        const std::string name = action ? text_of(*action) : "PUT";
        if (name == "ADD") update.action = Action::add;
        if (name == "DELETE") update.action = Action::remove;
        if (name != "PUT" && update.action == Action::put) valid_ = false;
        out->push_back(std::move(update));
    }
}

void Reader::read_expected(const object& request,
                           std::optional<std::vector<ExpectedAttribute>>& out) {
    const object* list = object_of(request, "Expected");
    if (!list) return;
    out.emplace();
    for (const auto& entry : *list) {
        const object& json = entry.value().as_object();
        ExpectedAttribute expected;
        expected.attribute = entry.key();
        if (const value* given = member(json, "Value")) expected.value = value_of(*given);
        if (const value* exists = member(json, "Exists")) expected.exists = exists->as_bool();
        if (const value* comparison = member(json, "ComparisonOperator")) {
            expected.comparison = comparison_of(*comparison);
        }
        if (const value* values = member(json, "AttributeValueList")) {
            expected.values = values_of(*values);
        }
        out->push_back(std::move(expected));
    }
}

void Reader::read_conditional_operator(const object& request,
                                       std::optional<ConditionalOperator>& out) {
    const value* found = member(request, "ConditionalOperator");
    if (!found) return;
    const std::string name = text_of(*found);
    if (name != "AND" && name != "OR") valid_ = false;
    out = name == "OR" ? ConditionalOperator::any : ConditionalOperator::all;
}

void Reader::read_conditions(const object& request, std::string_view name,
                             std::optional<std::vector<AttributeCondition>>& out) {
    const object* list = object_of(request, name);
    if (!list) return;
    out.emplace();
    for (const auto& entry : *list) {
        const object& json = entry.value().as_object();
        AttributeCondition condition;
        condition.attribute = entry.key();
        const value* comparison = member(json, "ComparisonOperator");
        if (!comparison) valid_ = false;
        if (comparison) condition.comparison = comparison_of(*comparison);
        if (const value* values = member(json, "AttributeValueList")) {
            condition.values = values_of(*values);
        }
        out->push_back(std::move(condition));
    }
}

void Reader::read_attributes(const object& request, std::optional<std::vector<std::string>>& out) {
    const value* found = member(request, "AttributesToGet");
    if (!found) return;
    out.emplace();
    for (const value& element : found->as_array()) out->push_back(text_of(element));
    // An empty list is refused by the constraints of members.
    if (out->empty()) valid_ = false;
}

}  // namespace

std::optional<ExpressionParameters> parameters_from_json(const object& request) {
    return Reader().read(request);
}

}  // namespace rocklock::proof
