// What is wrong with an expression, in the words of the service.
//
// Users compare these texts, so each is the service's own, to the letter.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <rocklock/error.hpp>

namespace rocklock::expression {

// The parameter of a request that a text came in.
enum class ExpressionKind : std::uint8_t { update, condition, key_condition, filter, projection };

// As in requests: "UpdateExpression".
std::string_view parameter_name(ExpressionKind kind);

// An invalid_argument with that text.
Error fault(std::string text);
// The same, which says in which expression: "Invalid UpdateExpression: <text>".
Error fault_in(ExpressionKind kind, std::string_view text);

// The beginning of most faults that concern no expression.
inline constexpr std::string_view invalid_parameters =
    "One or more parameter values were invalid: ";

}  // namespace rocklock::expression
