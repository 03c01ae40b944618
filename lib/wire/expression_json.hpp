// What a request says about conditions, updates, projections and keys, from JSON: expressions with
// their placeholders, and the parameters that came before those.
#pragma once

#include <rocklock/items/expression.hpp>

#include "expression/request.hpp"
#include "wire/json_writer.hpp"
#include "wire/member_reader.hpp"

namespace rocklock {

// The members that a request of that kind may have; others are not looked at.
ExpressionParameters read_parameters(const MemberReader& json, expression::RequestKind kind);
// Of a request in a transaction: expressions and their placeholders alone.
ExpressionParameters read_expressions_alone(const MemberReader& json, expression::RequestKind kind);

// What read_parameters() would read of a write, as members of the object that is being written.
void write_change_parameters(JsonWriter& json, const ExpressionParameters& parameters);

}  // namespace rocklock
