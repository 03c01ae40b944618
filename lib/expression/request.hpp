// Parses and checks all expressions of a request. The order of the checks is that in which DynamoDB
// reports faults: parameters that exclude each other, legacy parameters, placeholders, each
// expression, unused placeholders. The checks do not use the definition of the table.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <rocklock/items/expression.hpp>
#include <rocklock/result.hpp>

#include "expression/condition.hpp"
#include "expression/key_condition.hpp"
#include "expression/projection.hpp"
#include "expression/update.hpp"

namespace rocklock::expression {

// The kinds of requests, which have different parameters. A request in a batch or a transaction has
// the kind of the corresponding single request. A ConditionCheck has the kind `remove`.
enum class RequestKind : std::uint8_t { get, put, update, remove, query, scan };

// The expressions of a request. Lifetime: borrows the parameters.
struct RequestExpressions {
    std::optional<Update> update;
    std::optional<Condition> condition;
    std::vector<KeyClause> key_clauses;
    // The condition from which `key_clauses` were made. `key_clauses` borrow from this condition.
    std::optional<Condition> key_condition;
    std::optional<Condition> filter;
    std::optional<Projection> projection;
};

// Errors: invalid_argument  the first fault, with DynamoDB's message
Result<RequestExpressions> read_expressions(RequestKind kind,
                                            const ExpressionParameters& parameters);

}  // namespace rocklock::expression
