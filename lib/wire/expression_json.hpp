// Reads the conditions, updates, projections and key conditions of a request from JSON: expressions
// with their placeholders, and the legacy parameters.
#pragma once

#include <rocklock/items/expression.hpp>

#include "expression/request.hpp"
#include "wire/json_writer.hpp"
#include "wire/member_reader.hpp"

namespace rocklock {

// Reads the members that a request of this kind can have; ignores others.
ExpressionParameters read_parameters(const MemberReader& json, expression::RequestKind kind);
// As read_parameters(), for a request in a transaction: reads only expressions and placeholders.
ExpressionParameters read_expressions_alone(const MemberReader& json, expression::RequestKind kind);

// Writes the parameters of a write into the current object, in the form that read_parameters()
// reads.
void write_change_parameters(JsonWriter& json, const ExpressionParameters& parameters);

}  // namespace rocklock
