// Conditions on an item: ConditionExpression, FilterExpression, KeyConditionExpression, and what
// Expected and the older filters become.
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

// Lifetime: borrows the placeholders that it was bound to.
struct Condition {
    std::shared_ptr<const ConditionTree> tree;
    Bindings bindings;

    Paths paths() const { return Paths(*tree, bindings); }
};

// Gives the placeholders their meaning, and checks all that can be checked without an item.
//
// Errors: invalid_argument  the first fault, in the service's words: a placeholder is not defined,
//                           a wrong number of operands, operands that are the same, wrong types
Result<Condition> bind_condition(std::shared_ptr<const ConditionTree> tree, Binder& binder);

// Whether the item is as the condition says. No item is an empty one.
bool holds(const Condition& condition, const Item& item);

// The attributes that it looks at, each once, in order of names.
std::vector<std::string_view> attributes(const Condition& condition);

// The attributes that its paths go into: `a` of `a.b` and `a[0]`, in order of the text.
std::vector<std::string_view> nested_attributes(const Condition& condition);

}  // namespace rocklock::expression
