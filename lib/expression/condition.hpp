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
// Errors: invalid_argument  the first fault, with DynamoDB's message: an undefined placeholder, a
//                           wrong number of operands, equal operands, wrong types
Result<Condition> bind_condition(std::shared_ptr<const ConditionTree> tree, Binder& binder);

// Returns whether the condition is true for the item. For an item that does not exist, the caller
// passes an empty item.
bool holds(const Condition& condition, const Item& item);

// Returns the attributes that the condition reads, each once, ordered by name.
std::vector<std::string_view> attributes(const Condition& condition);

// Returns the attributes that have an element which the condition reads (`a` for `a.b` and `a[0]`),
// in the order of the text.
std::vector<std::string_view> nested_attributes(const Condition& condition);

}  // namespace rocklock::expression
