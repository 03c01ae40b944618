// Converts the legacy parameters Expected, QueryFilter, ScanFilter, KeyConditions, AttributeUpdates
// and AttributesToGet. The results are the same trees as for expressions.
//
// In legacy parameters, an attribute name is not a path, and a dot is part of the name. All results
// borrow from the parameters.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/items/expression.hpp>
#include <rocklock/result.hpp>

#include "expression/condition.hpp"
#include "expression/key_condition.hpp"
#include "expression/projection.hpp"
#include "expression/update.hpp"

namespace rocklock::expression {

// Returns the name of the operator in requests, such as "BEGINS_WITH".
std::string_view to_string(ComparisonOperator comparison);

// Return nullopt if the list is empty, because an empty list is not a condition.
//
// Errors: invalid_argument  the first fault, with DynamoDB's message
Result<std::optional<Condition>> legacy_condition(const std::vector<ExpectedAttribute>& expected,
                                                  ConditionalOperator joined);
Result<std::optional<Condition>> legacy_filter(const std::vector<AttributeCondition>& filter,
                                               ConditionalOperator joined);
Result<std::vector<KeyClause>> legacy_key_clauses(const std::vector<AttributeCondition>& keys);
Result<Update> legacy_update(const std::vector<AttributeUpdate>& updates);
Result<Projection> legacy_projection(const std::vector<std::string>& attributes);

}  // namespace rocklock::expression
