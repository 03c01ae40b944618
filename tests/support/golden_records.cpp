#include "support/golden_records.hpp"

#include <cstdlib>
#include <fstream>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>

namespace rocklock::proof {

namespace {

using boost::json::object;
using boost::json::value;

// Expands {"$repeat": ["x", n]} to n times "x", at every depth.
value expanded(const value& json) {
    value result = json;
    if (json.is_array()) {
        for (value& element : result.get_array()) element = expanded(element);
    }
    if (!json.is_object()) return result;
    if (const value* repeat = json.get_object().if_contains("$repeat")) {
        std::string text;
        const auto& pair = repeat->as_array();
        for (auto i = pair[1].to_number<int>(); i > 0; --i) text += pair[0].as_string();
        return value(text);
    }
    for (auto& entry : result.get_object()) entry.value() = expanded(entry.value());
    return result;
}

}  // namespace

std::vector<object> golden_records(const std::string& topic) {
    const char* root = std::getenv("ROCKLOCK_SOURCE_ROOT");
    std::ifstream file(std::string(root ? root : ".") + "/tests/golden/" + topic + ".jsonl");
    std::vector<object> records;
    boost::json::parse_options options;
    // The recorded values are nested as deeply as allowed, and deeper.
    options.max_depth = 256;
    for (std::string line; std::getline(file, line);) {
        records.push_back(expanded(boost::json::parse(line, {}, options)).as_object());
    }
    return records;
}

std::string text_at(const object& json, std::string_view name) {
    const value* found = json.if_contains(name);
    return found && found->is_string() ? std::string(found->get_string()) : "";
}

}  // namespace rocklock::proof
