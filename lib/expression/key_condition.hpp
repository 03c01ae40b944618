// The keys that a Query reads: KeyConditionExpression and KeyConditions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <rocklock/result.hpp>

#include "expression/condition.hpp"
#include "item/item_limits.hpp"

namespace rocklock::expression {

// A condition on one attribute, before it is compared with the key attributes of a table.
//
// Lifetime: borrows from the expression or the legacy parameters.
struct KeyClause {
    std::string_view attribute;
    ComparisonOperator comparison = ComparisonOperator::eq;
    // The operands of `comparison`. Their number is the one that the operator requires.
    std::vector<const AttributeValue*> values;
};

// Converts a condition to clauses.
//
// Errors: invalid_argument  with DynamoDB's messages: an operator that keys do not support, nested
//                           operands, two attributes in one clause, two clauses for one attribute
Result<std::vector<KeyClause>> key_clauses(const Condition& condition);

// The key attributes of the table or the index that is read.
struct KeySchema {
    KeyAttribute hash;
    std::optional<KeyAttribute> range;
};

struct RangeBound {
    AttributeValue value;
    bool inclusive = true;
};

// The value of the hash key, and an optional restriction of the range key. The restriction allows
// the values from `lower` to `upper`, or the values that begin with `prefix`.
struct KeyRange {
    AttributeValue hash;
    std::optional<RangeBound> lower;
    std::optional<RangeBound> upper;
    std::optional<AttributeValue> prefix;

    // Returns whether a range key is in the range.
    bool contains(const AttributeValue& range_key) const;
};

// Converts clauses to the range of keys in a table or an index.
//
// Errors: invalid_argument  with DynamoDB's messages: too many clauses, no clause for the hash key,
//                           a clause for an attribute that is not a key, an operator that cannot
//                           be used, a wrong type, an empty value
Result<KeyRange> key_range(std::span<const KeyClause> clauses, const KeySchema& schema);

// Returns an error if a Query's filter uses a key attribute, which DynamoDB does not permit.
// `legacy` is true for QueryFilter.
std::optional<Error> check_filter(const Condition& filter, const KeySchema& schema, bool legacy);

}  // namespace rocklock::expression
