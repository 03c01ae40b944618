// The recorded answers of the service (tests/golden): one step a record.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

namespace rocklock::proof {

// Those of a topic, in their order, with what they say in short written out. None: there is no such
// file.
std::vector<boost::json::object> golden_records(const std::string& topic);

// A member that is a text; "" where it is not one.
std::string text_at(const boost::json::object& json, std::string_view name);

}  // namespace rocklock::proof
