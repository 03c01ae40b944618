// The body of a request or an answer of the lock API, as a JSON object.
#pragma once

#include <functional>
#include <string_view>

#include <boost/json/object.hpp>

#include "wire/json_reader.hpp"

namespace rocklock {

using TakeObject = std::function<void(const boost::json::object& object)>;

// Parses `json` and hands the object over. What is none is a problem, told with its place.
void with_object(std::string_view json, FirstProblem& problem, const TakeObject& take);

// The same of a request, where an empty body is one without members, and a member that is given
// twice is a problem.
void with_request(std::string_view json, FirstProblem& problem, const TakeObject& take);

}  // namespace rocklock
