// Which keys a Query reads: KeyConditionExpression and KeyConditions.
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

// A condition on one attribute, whichever attributes the keys are.
//
// Lifetime: borrows from what it was made of.
struct KeyClause {
    std::string_view attribute;
    ComparisonOperator comparison = ComparisonOperator::eq;
    // As many as the comparison takes.
    std::vector<const AttributeValue*> values;
};

// Errors: invalid_argument  in the service's words: an operator that keys do not have, nested
//                           operands, two attributes in one clause, two clauses for one attribute
Result<std::vector<KeyClause>> key_clauses(const Condition& condition);

// The key of the table or the index that is read.
struct KeySchema {
    KeyAttribute hash;
    std::optional<KeyAttribute> range;
};

struct RangeBound {
    AttributeValue value;
    bool inclusive = true;
};

// Range keys from `lower` to `upper`, and those that begin with `prefix`; all, where it says none
// of these.
struct KeyRange {
    AttributeValue hash;
    std::optional<RangeBound> lower;
    std::optional<RangeBound> upper;
    std::optional<AttributeValue> prefix;

    // Whether a range key lies within.
    bool contains(const AttributeValue& range_key) const;
};

// Errors: invalid_argument  in the service's words: too many clauses, none for the hash key, or one
//                           for no key at all, an operator that cannot be used, a wrong type, an
//                           empty value
Result<KeyRange> key_range(std::span<const KeyClause> clauses, const KeySchema& schema);

// A Query's filter may not look at the keys of what it reads. `legacy` is QueryFilter.
std::optional<Error> check_filter(const Condition& filter, const KeySchema& schema, bool legacy);

}  // namespace rocklock::expression
