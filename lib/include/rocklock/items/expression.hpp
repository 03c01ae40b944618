// The conditions, updates, projections and key conditions of a request, either as expressions or as
// DynamoDB's legacy parameters. DynamoDB's documentation defines the parameters and the syntax of
// the expressions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rocklock/items/attribute_value.hpp>

namespace rocklock {

// A placeholder `#name` and the attribute name that it stands for.
struct NamePlaceholder {
    std::string placeholder;
    std::string name;
};

// A placeholder `:value` and the value that it stands for.
struct ValuePlaceholder {
    std::string placeholder;
    AttributeValue value;
};

// The placeholders of a request. An absent list is allowed; an empty list is an error, as in
// DynamoDB.
struct Placeholders {
    std::optional<std::vector<NamePlaceholder>> names;
    std::optional<std::vector<ValuePlaceholder>> values;
};

// The operators of Expected, KeyConditions, QueryFilter and ScanFilter.
enum class ComparisonOperator : std::uint8_t {
    eq,
    ne,
    le,
    lt,
    ge,
    gt,
    in,
    between,
    not_null,
    null,
    contains,
    not_contains,
    begins_with,
};

enum class ConditionalOperator : std::uint8_t { all, any };

// An element of KeyConditions, QueryFilter or ScanFilter.
struct AttributeCondition {
    std::string attribute;
    ComparisonOperator comparison = ComparisonOperator::eq;
    std::vector<AttributeValue> values;
};

// An element of Expected. It requires one of the following: that the attribute has the value
// `value`; that the attribute exists or does not exist (`exists`); or that a comparison is true
// (`comparison` with `values`).
struct ExpectedAttribute {
    std::string attribute;
    std::optional<AttributeValue> value;
    std::optional<bool> exists;
    std::optional<ComparisonOperator> comparison;
    std::optional<std::vector<AttributeValue>> values;
};

// An element of AttributeUpdates. `remove` is DynamoDB's action DELETE. With a value, `remove`
// removes members from a set; without a value, it removes the attribute.
struct AttributeUpdate {
    enum class Action : std::uint8_t { put, add, remove };
    std::string attribute;
    Action action = Action::put;
    std::optional<AttributeValue> value;
};

// The parameters of all operations. An operation ignores parameters that it does not have in
// DynamoDB.
struct ExpressionParameters {
    std::optional<std::string> update;
    std::optional<std::string> condition;
    std::optional<std::string> key_condition;
    std::optional<std::string> filter;
    std::optional<std::string> projection;
    Placeholders placeholders;

    std::optional<std::vector<AttributeUpdate>> attribute_updates;
    std::optional<std::vector<ExpectedAttribute>> expected;
    std::optional<ConditionalOperator> conditional_operator;
    std::optional<std::vector<AttributeCondition>> key_conditions;
    // QueryFilter of a Query, ScanFilter of a Scan.
    std::optional<std::vector<AttributeCondition>> attribute_filter;
    std::optional<std::vector<std::string>> attributes_to_get;
};

}  // namespace rocklock
