// Errors (faults) of expressions, with DynamoDB's messages.
//
// The messages are identical to those of DynamoDB, because programs compare them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <rocklock/error.hpp>

namespace rocklock::expression {

// The parameter of a request that contained the expression.
enum class ExpressionKind : std::uint8_t { update, condition, key_condition, filter, projection };

// Returns the name of the parameter in requests, such as "UpdateExpression".
std::string_view parameter_name(ExpressionKind kind);

// Returns an error with the code invalid_argument and this message.
Error fault(std::string text);
// As fault(), but the message begins with the parameter: "Invalid UpdateExpression: <text>".
Error fault_in(ExpressionKind kind, std::string_view text);

// Most messages about an invalid value or parameter begin with this text. Messages about the syntax
// of an expression do not.
inline constexpr std::string_view invalid_parameters =
    "One or more parameter values were invalid: ";

}  // namespace rocklock::expression
