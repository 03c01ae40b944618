// Compares with vectors.txt: random expressions and the results of a model in Python
// (make_vectors.py).
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/test/unit_test.hpp>

#include "expression/request.hpp"
#include "support/typed_json.hpp"

namespace rocklock::proof {

namespace {

using boost::json::object;
using boost::json::value;
using expression::RequestExpressions;
using expression::RequestKind;

std::filesystem::path vectors() {
    if (const char* other = std::getenv("ROCKLOCK_VECTORS")) return other;
    return std::filesystem::path(std::getenv("ROCKLOCK_SOURCE_ROOT")) /
           "tests/expression/vectors.txt";
}

Placeholders placeholders_of(const object& asked) {
    Placeholders result;
    for (const auto& entry : asked.at("names").as_object()) {
        if (!result.names) result.names.emplace();
        result.names->push_back({entry.key(), std::string(entry.value().as_string())});
    }
    for (const auto& entry : asked.at("values").as_object()) {
        if (!result.values) result.values.emplace();
        result.values->push_back({entry.key(), *value_from_json(entry.value())});
    }
    return result;
}

bool answers_update(const object& asked, const RequestExpressions& read, const Item& item) {
    const bool existed = asked.at("existed").as_bool();
    const auto result = apply(*read.update, existed ? item : Item(), existed);
    if (const value* error = asked.if_contains("error")) {
        return !result && result.error().message == std::string_view(error->as_string());
    }
    return result && *result == *item_from_json(asked.at("answer"));
}

// Returns whether the answer in the file equals the result here.
bool answers(const object& asked, const Item& item) {
    const std::string kind(asked.at("kind").as_string());
    const std::string text(asked.at("text").as_string());
    ExpressionParameters parameters;
    parameters.placeholders = placeholders_of(asked);
    RequestKind request = RequestKind::put;
    if (kind == "condition") parameters.condition = text;
    if (kind == "projection") {
        request = RequestKind::get;
        parameters.projection = text;
    }
    if (kind == "update") {
        request = RequestKind::update;
        parameters.update = text;
    }
    const auto read = expression::read_expressions(request, parameters);
    BOOST_REQUIRE_MESSAGE(read, text << ": " << (read ? "" : read.error().message));
    if (read->condition) return holds(*read->condition, item) == asked.at("answer").as_bool();
    if (read->update) return answers_update(asked, *read, item);
    return project(*read->projection, item) == *item_from_json(asked.at("answer"));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(a_model_in_another_language)

BOOST_AUTO_TEST_CASE(agrees_on_random_expressions) {
    std::ifstream file(vectors());
    std::string line;
    BOOST_REQUIRE(std::getline(file, line));
    std::vector<Item> items;
    const value listed = boost::json::parse(line);
    for (const value& json : listed.as_array()) {
        items.push_back(*item_from_json(json));
    }
    std::map<std::string, int> asked_of;
    while (std::getline(file, line)) {
        const value json = boost::json::parse(line);
        const object& asked = json.as_object();
        const Item& item = items.at(asked.at("item").to_number<std::size_t>());
        BOOST_TEST(answers(asked, item), line);
        ++asked_of[std::string(asked.at("kind").as_string())];
    }
    BOOST_TEST(asked_of["condition"] > 400);
    BOOST_TEST(asked_of["projection"] > 200);
    BOOST_TEST(asked_of["update"] > 400);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::proof
