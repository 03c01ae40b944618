// Compares with the recorded responses of the service (tests/golden), as far as they depend on
// expressions.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/test/unit_test.hpp>

#include "expression/list_table.hpp"
#include "support/golden_records.hpp"
#include "support/typed_json.hpp"

namespace rocklock::proof {

namespace {

using boost::json::object;
using boost::json::value;

constexpr std::string_view parameters_were = "One or more parameter values were invalid: ";

// The beginnings of the error messages that come from expressions. Other messages, about members,
// keys and numbers, are not compared here.
constexpr auto our_texts = std::to_array<std::string_view>({
    "Invalid UpdateExpression",
    "Invalid ConditionExpression",
    "Invalid FilterExpression",
    "Invalid KeyConditionExpression",
    "Invalid ProjectionExpression",
    "Invalid condition in",
    "Invalid operator used",
    "KeyConditionExpressions",
    "Conditions can be",
    "Query condition",
    "Query key condition",
    "Filter Expression",
    "QueryFilter",
    "Attempted conditional",
    "Either the KeyConditions",
    "Can not use both",
    "ConditionalOperator",
    "Type mismatch for attribute to update",
    "The conditional request failed",
    "Number overflow. Attempting to store",
    "The provided expression",
    "An operand in",
    "The document path",
    "The BETWEEN condition",
    "Value provided in",
    "ExpressionAttributeNames",
    "ExpressionAttributeValues can only",
    "ExpressionAttributeValues must",
    "ExpressionAttributeValues contains invalid key",
    "Cannot have two attributes",
    "Empty attribute name",
    "DynamoDB only supports precision",
    "Key attributes must be scalars",
    "Only scalar types can be used as Range Key values",
});
constexpr auto our_parameter_texts = std::to_array<std::string_view>({
    "Cannot update attribute",
    "Condition parameter",
    "ComparisonOperator",
    "Invalid number of argument",
    "AttributeValue",
    "Value ",
    "Exists ",
    "Only DELETE",
    "ADD action",
    "DELETE action",
});

bool is_ours(std::string_view message) {
    const auto begins = [&](std::string_view text) { return message.starts_with(text); };
    if (!message.starts_with(parameters_were)) {
        return std::any_of(our_texts.begin(), our_texts.end(), begins);
    }
    message.remove_prefix(parameters_were.size());
    return std::any_of(our_parameter_texts.begin(), our_parameter_texts.end(), begins);
}

std::string message_of(const object& response) {
    return text_member(response, "message", text_member(response, "Message"));
}

std::string error_difference(const Outcome& outcome, const object& record) {
    const std::string wanted = message_of(record.at("response").as_object());
    if (!outcome.error) return "no error, but wanted: " + wanted;
    if (text_at(record, "msg") == "any" || *outcome.error == wanted) return "";
    return "\n  is:     " + *outcome.error + "\n  wanted: " + wanted;
}

bool same_items(const Outcome& outcome, const object& record) {
    std::vector<Item> items;
    const object& response = record.at("response").as_object();
    if (const value* list = response.if_contains("Items")) {
        for (const value& element : list->as_array()) items.push_back(*item_from_json(element));
    }
    const auto found = outcome.items.value_or(std::vector<Item>{});
    if (!record.contains("unordered")) return items == found;
    return std::is_permutation(items.begin(), items.end(), found.begin(), found.end());
}

// Returns the difference between the outcome and the recorded response; empty if there is none.
std::string difference(const Outcome& outcome, const object& record) {
    if (record.at("status").to_number<int>() != 200) return error_difference(outcome, record);
    if (outcome.error) return "error: " + *outcome.error;
    const object& response = record.at("response").as_object();
    std::optional<Item> item;
    for (const auto* name : {"Attributes", "Item"}) {
        if (const value* found = response.if_contains(name)) item = item_from_json(*found);
    }
    if (outcome.item != item) return "another item";
    if (!response.contains("Count")) return "";
    if (outcome.count != response.at("Count").to_number<std::size_t>()) return "another count";
    return same_items(outcome, record) ? "" : "other items";
}

struct Tally {
    std::size_t compared = 0;
    std::size_t faults = 0;
};

void play(const object& record, ListTables& tables, Tally& tally) {
    if (!record.contains("request") || record.contains("segments")) return;
    const bool fails = record.at("status").to_number<int>() != 200;
    if (fails && !is_ours(message_of(record.at("response").as_object()))) return;
    const object& request = record.at("request").as_object();
    const auto outcome = tables.play(text_at(record, "op"), request);
    if (!outcome) return;
    const std::string differs = difference(*outcome, record);
    BOOST_TEST(differs.empty(), text_at(record, "case")
                                    << ", step " << record.at("step").to_number<int>() << ": "
                                    << differs << "\n"
                                    << boost::json::serialize(request));
    ++tally.compared;
    tally.faults += fails ? 1 : 0;
}

// Each case begins by creating its tables.
Tally play(const std::string& topic) {
    Tally tally;
    std::string current;
    ListTables tables;
    for (const object& record : golden_records(topic)) {
        const std::string name = text_at(record, "case");
        if (name != current) tables = ListTables();
        current = name;
        play(record, tables, tally);
    }
    return tally;
}

void check(const std::string& topic, const Tally& wanted) {
    const Tally tally = play(topic);
    BOOST_TEST(tally.compared == wanted.compared);
    BOOST_TEST(tally.faults == wanted.faults);
}

}  // namespace

// The expected counts are those of the files, so that no record is skipped unnoticed.
BOOST_AUTO_TEST_SUITE(the_recorded_answers_of_the_service)

BOOST_AUTO_TEST_CASE(to_conditions_are_ours) { check("conditions", {760, 144}); }
BOOST_AUTO_TEST_CASE(to_updates_are_ours) { check("update-expressions", {823, 80}); }
BOOST_AUTO_TEST_CASE(to_projections_are_ours) { check("projection", {208, 46}); }
BOOST_AUTO_TEST_CASE(to_queries_are_ours) { check("query", {704, 54}); }
BOOST_AUTO_TEST_CASE(to_scans_are_ours) { check("scan", {239, 5}); }
BOOST_AUTO_TEST_CASE(to_the_older_parameters_are_ours) { check("legacy", {617, 131}); }

BOOST_AUTO_TEST_CASE(to_requests_of_all_kinds_are_ours) {
    BOOST_TEST(play("errors").faults == 5U);
    BOOST_TEST(play("put-get").faults == 39U);
    BOOST_TEST(play("index").compared == 94U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::proof
