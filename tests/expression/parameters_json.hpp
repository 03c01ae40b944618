// The parameters of a request that expressions are made of, from the request as JSON.
#pragma once

#include <optional>

#include <boost/json/object.hpp>

#include <rocklock/expression.hpp>

namespace rocklock::proof {

// Nothing where a member is not of its type: an attribute value that is none, an operator that is
// not known. That is not for expressions to see.
std::optional<ExpressionParameters> parameters_from_json(const boost::json::object& request);

}  // namespace rocklock::proof
