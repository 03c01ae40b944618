// Parses the texts of expressions.
//
// The parser finds the faults that do not depend on the placeholders. Like DynamoDB, it reports
// these faults before all faults of placeholders. The order is: empty text, text too long, syntax,
// redundant parentheses, functions, list indexes, reserved words, path depth, number of operators.
// In an update, reserved words are checked before functions, and repeated sections are checked
// after the path depth.
#pragma once

#include <cstddef>
#include <string_view>

#include <rocklock/result.hpp>

#include "expression/tree.hpp"

namespace rocklock::expression {

inline constexpr std::size_t max_expression_bytes = 4096;
inline constexpr std::size_t max_operators = 300;
inline constexpr std::size_t max_in_operands = 100;
inline constexpr std::size_t max_path_steps = 32;

// `kind` must be condition, key_condition or filter. It is used only in messages.
//
// Errors: invalid_argument  the first fault of the text, with DynamoDB's message
Result<ConditionTree> parse_condition(ExpressionKind kind, std::string_view text);
Result<UpdateTree> parse_update(std::string_view text);
Result<ProjectionTree> parse_projection(std::string_view text);

}  // namespace rocklock::expression
