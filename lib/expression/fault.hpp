// Errors of expressions, with DynamoDB's messages.
//
// Programs compare these messages, so they are identical to DynamoDB's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <rocklock/error.hpp>

namespace rocklock::expression {

// The parameter of a request that contained the expression.
enum class ExpressionKind : std::uint8_t { update, condition, key_condition, filter, projection };

// Returns the name as in requests: "UpdateExpression".
std::string_view parameter_name(ExpressionKind kind);

// Returns an invalid_argument with this message.
Error fault(std::string text);
// As fault(), with the parameter: "Invalid UpdateExpression: <text>".
Error fault_in(ExpressionKind kind, std::string_view text);

// The beginning of most messages about an invalid value or parameter, rather than about the syntax
// of an expression.
inline constexpr std::string_view invalid_parameters =
    "One or more parameter values were invalid: ";

}  // namespace rocklock::expression
