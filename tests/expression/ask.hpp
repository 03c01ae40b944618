// Short ways to ask an expression something, for tests.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "expression/request.hpp"

namespace rocklock::proof {

using NameList = std::vector<std::pair<std::string, std::string>>;
using ValueList = std::vector<std::pair<std::string, AttributeValue>>;

// {{"#a", "name"}} and {{":v", 1}}; an empty list is as one that is not given.
Placeholders placeholders(const NameList& names, const ValueList& values);

// The fault of a request whose only expression is that text, and "" when there is none.
std::string condition_fault(std::string_view text, const ValueList& values = {},
                            const NameList& names = {});
std::string update_fault(std::string_view text, const ValueList& values = {},
                         const NameList& names = {});
std::string projection_fault(std::string_view text, const NameList& names = {});
std::string request_fault(expression::RequestKind kind, const ExpressionParameters& parameters);

// What the condition says of the item. It must have no fault.
bool holds_of(const Item& item, std::string_view text, const ValueList& values = {},
              const NameList& names = {});
Item projected(const Item& item, std::string_view text, const NameList& names = {});
// The item after the update, or the error of applying it.
Result<Item> updated(const Item& item, std::string_view text, const ValueList& values = {},
                     bool existed = true);
// What UPDATED_OLD or UPDATED_NEW say, of the item before or after.
Item touched(const Item& item, std::string_view text, const ValueList& values = {});

inline AttributeValue number(int value) { return Number(value); }
AttributeValue number(std::string_view text);
AttributeValue list(AttributeList elements);
AttributeValue strings(std::vector<std::string> members);

}  // namespace rocklock::proof
