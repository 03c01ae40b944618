// Parses the body of a request or a response of the lock API, which is a JSON object.
#pragma once

#include <functional>
#include <string_view>

#include <boost/json/object.hpp>

#include "wire/json_reader.hpp"

namespace rocklock {

using TakeObject = std::function<void(const boost::json::object& object)>;

// Parses `json` and calls `take` with the object. If `json` is not a JSON object, reports a problem
// with its position instead.
void with_object(std::string_view json, FirstProblem& problem, const TakeObject& take);

// As with_object(), but for requests. An empty body is treated as an object without members, and a
// repeated member is reported as a problem.
void with_request(std::string_view json, FirstProblem& problem, const TakeObject& take);

}  // namespace rocklock
