// All that a request says in expressions, read in the order in which the service looks for faults:
// parameters that exclude one another, the older parameters, the placeholders, each expression, and
// placeholders that none of them has. No table is looked at.
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

// Which parameters a request may have. Those of batches and transactions are as the single ones: a
// ConditionCheck is as a remove.
enum class RequestKind : std::uint8_t { get, put, update, remove, query, scan };

// Lifetime: borrows the parameters it was read from.
struct RequestExpressions {
    std::optional<Update> update;
    std::optional<Condition> condition;
    std::vector<KeyClause> key_clauses;
    // What they were made of; they borrow from it.
    std::optional<Condition> key_condition;
    std::optional<Condition> filter;
    std::optional<Projection> projection;
};

// Errors: invalid_argument  the first fault, in the service's words
Result<RequestExpressions> read_expressions(RequestKind kind,
                                            const ExpressionParameters& parameters);

}  // namespace rocklock::expression
