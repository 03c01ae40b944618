// Conditions on an item: ConditionExpression, FilterExpression, KeyConditionExpression, and the
// legacy parameters Expected, QueryFilter and ScanFilter.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <rocklock/result.hpp>

#include "expression/paths.hpp"
#include "expression/placeholders.hpp"
#include "expression/tree.hpp"

namespace rocklock::expression {

// A condition with the names and values of its placeholders. Lifetime: borrows the placeholders.
struct Condition {
    std::shared_ptr<const ConditionTree> tree;
    Bindings bindings;

    Paths paths() const { return Paths(*tree, bindings); }
};

// Looks up the placeholders of a condition, and performs all checks that do not need an item.
//
// Errors: invalid_argument  for the first clause that has an error, with DynamoDB's message. If a
//                           clause has several errors, the one that is first in this list is
//                           reported: an undefined placeholder; a wrong number of operands; a
//                           path that is both the first and another operand; a wrong type or value
//                           of an operand
Result<Condition> bind_condition(std::shared_ptr<const ConditionTree> tree, Binder& binder);

// Returns whether the condition is true for the item. If the item does not exist, the caller must
// pass an empty item.
bool holds(const Condition& condition, const Item& item);

// Returns the attributes that the condition reads, without duplicates, ordered by name.
std::vector<std::string_view> attributes(const Condition& condition);

// Returns the first name of each path in the condition that has two or more steps, for example `a`
// for `a.b` and for `a[0]`. The result may contain an attribute more than once.
std::vector<std::string_view> nested_attributes(const Condition& condition);

}  // namespace rocklock::expression
