// The recorded responses of DynamoDB (tests/golden), one record per step.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

namespace rocklock::proof {

// Returns the records of a topic in their order, with abbreviations expanded. Returns an empty list
// if there is no file for the topic.
std::vector<boost::json::object> golden_records(const std::string& topic);

// Returns the member if it is a string, otherwise an empty text.
std::string text_at(const boost::json::object& json, std::string_view name);

}  // namespace rocklock::proof
