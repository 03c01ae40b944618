// The parameters that came before expressions, as the same trees: Expected, QueryFilter,
// ScanFilter, KeyConditions, AttributeUpdates and AttributesToGet.
//
// Attribute names are whole here: a dot is a part of them. All results borrow from what they are
// made of.
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

// As in requests: "BEGINS_WITH".
std::string_view to_string(ComparisonOperator comparison);

// Nothing where the list is empty: then there is no condition.
//
// Errors: invalid_argument  the first fault, in the service's words
Result<std::optional<Condition>> legacy_condition(const std::vector<ExpectedAttribute>& expected,
                                                  ConditionalOperator joined);
Result<std::optional<Condition>> legacy_filter(const std::vector<AttributeCondition>& filter,
                                               ConditionalOperator joined);
Result<std::vector<KeyClause>> legacy_key_clauses(const std::vector<AttributeCondition>& keys);
Result<Update> legacy_update(const std::vector<AttributeUpdate>& updates);
Result<Projection> legacy_projection(const std::vector<std::string>& attributes);

}  // namespace rocklock::expression
