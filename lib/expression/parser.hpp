// Reads the texts of expressions.
//
// Faults of a text alone are found here. They come before all that concerns what placeholders stand
// for, in this order, which is the service's: an empty text, one that is too long, syntax,
// parentheses without need, functions, indexes of lists, reserved words, depth of paths, too many
// operators. In updates reserved words go before functions, and sections given twice come after.
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

// `kind` is condition, key_condition or filter; it is only named in faults.
//
// Errors: invalid_argument  the first fault of the text, in the service's words
Result<ConditionTree> parse_condition(ExpressionKind kind, std::string_view text);
Result<UpdateTree> parse_update(std::string_view text);
Result<ProjectionTree> parse_projection(std::string_view text);

}  // namespace rocklock::expression
