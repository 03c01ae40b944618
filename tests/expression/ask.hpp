// Short functions for tests that evaluate an expression.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "expression/request.hpp"

namespace rocklock::proof {

using NameList = std::vector<std::pair<std::string, std::string>>;
using ValueList = std::vector<std::pair<std::string, AttributeValue>>;

// Converts lists such as {{"#a", "name"}} and {{":v", 1}} to placeholders. An empty list is treated
// as absent.
Placeholders placeholders(const NameList& names, const ValueList& values);

// Return the error message of a request that has only this expression. Return an empty string if
// the expression is valid.
std::string condition_fault(std::string_view text, const ValueList& values = {},
                            const NameList& names = {});
std::string update_fault(std::string_view text, const ValueList& values = {},
                         const NameList& names = {});
std::string projection_fault(std::string_view text, const NameList& names = {});
std::string request_fault(expression::RequestKind kind, const ExpressionParameters& parameters);

// Returns whether the item meets the condition, which must be valid.
bool holds_of(const Item& item, std::string_view text, const ValueList& values = {},
              const NameList& names = {});
Item projected(const Item& item, std::string_view text, const NameList& names = {});
// Returns the item after the update, or the error if the update cannot be applied.
Result<Item> updated(const Item& item, std::string_view text, const ValueList& values = {},
                     bool existed = true);
// Returns the attributes that UPDATED_OLD or UPDATED_NEW return for this item.
Item touched(const Item& item, std::string_view text, const ValueList& values = {});

inline AttributeValue number(int value) { return Number(value); }
AttributeValue number(std::string_view text);
AttributeValue list(AttributeList elements);
AttributeValue strings(std::vector<std::string> members);

}  // namespace rocklock::proof
