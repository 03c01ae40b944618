// Reads the conditions, updates, projections and key conditions of a request from JSON. They are
// expressions with their placeholders, or legacy parameters.
#pragma once

#include <rocklock/items/expression.hpp>

#include "expression/request.hpp"
#include "wire/json/json_writer.hpp"
#include "wire/json/member_reader.hpp"

namespace rocklock {

// Reads the members that a request of this kind can have. Ignores other members.
ExpressionParameters read_parameters(const MemberReader& json, expression::RequestKind kind);
// As read_parameters(), but for a request in a transaction. Reads only expressions and
// placeholders.
ExpressionParameters read_expressions_alone(const MemberReader& json, expression::RequestKind kind);

// Writes the parameters of a write into the current object, in the form that read_parameters()
// reads.
void write_change_parameters(JsonWriter& json, const ExpressionParameters& parameters);

}  // namespace rocklock
