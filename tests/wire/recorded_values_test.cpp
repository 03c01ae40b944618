// The recorded cases of DynamoDB that concern only values.
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value_to.hpp>
#include <boost/test/unit_test.hpp>

#include "item/item_codec.hpp"
#include "item/item_limits.hpp"
#include "wire/json/attribute_json.hpp"

namespace rocklock::testing {
namespace {

// Expands the abbreviation of the recordings: {"$repeat": ["x", 3]} is "xxx".
void expand(boost::json::value& json) {
    if (auto* array = json.if_array()) {
        for (auto& element : *array) expand(element);
    }
    auto* object = json.if_object();
    if (object == nullptr) return;
    if (const auto* repeat = object->if_contains("$repeat")) {
        const auto unit = boost::json::value_to<std::string>(repeat->at(0));
        std::string text;
        for (auto count = repeat->at(1).as_int64(); count > 0; --count) text += unit;
        json = boost::json::value(text);
        return;
    }
    for (auto& member : *object) expand(member.value());
}

std::vector<boost::json::value> recorded(const std::string& topic) {
    std::ifstream file(std::string(std::getenv("ROCKLOCK_SOURCE_ROOT")) + "/tests/golden/" + topic +
                       ".jsonl");
    std::vector<boost::json::value> records;
    boost::json::parse_options options;
    options.max_depth = 256;
    for (std::string line; std::getline(file, line);) {
        records.push_back(boost::json::parse(line, {}, options));
        expand(records.back());
    }
    BOOST_REQUIRE(!records.empty());
    return records;
}

std::string text(const boost::json::value& json, std::string_view name) {
    const auto* member = json.as_object().if_contains(name);
    return member != nullptr && member->is_string() ? boost::json::value_to<std::string>(*member)
                                                    : "";
}

// Returns the name of the exception and the message for an item to put, independent of the table.
// Empty if the item is valid.
std::string fault(const boost::json::value& json) {
    auto item = read_item(json);
    if (!item) {
        const bool malformed = item.error().code == ErrorCode::malformed;
        return malformed ? "SerializationException" : "ValidationException" + item.error().message;
    }
    const auto checked = check_item(*item, ItemWrite::put);
    return checked ? "" : "ValidationException" + checked.error().message;
}

std::string expected_fault(const boost::json::value& record) {
    if (record.at("status").as_int64() == 200) return "";
    const auto& response = record.at("response");
    const auto name = text(response, "__type").substr(text(response, "__type").find('#') + 1);
    return name == "ValidationException" ? name + text(response, "message") : name;
}

// Calls `call` for each item below `json`.
void each_item(const boost::json::value& json,
               const std::function<void(const boost::json::value&)>& call) {
    for (const auto* name : {"Item", "Attributes"}) {
        const auto* item = json.is_object() ? json.as_object().if_contains(name) : nullptr;
        if (item != nullptr) call(*item);
    }
    const auto* items = json.is_object() ? json.as_object().if_contains("Items") : nullptr;
    if (items == nullptr || !items->is_array()) return;
    for (const auto& item : items->as_array()) call(item);
}

// Checks that the item is written as it was read. Only the order in sets may differ.
void comes_back(const boost::json::value& json) {
    const auto item = read_item(json);
    BOOST_REQUIRE(item);
    JsonWriter written;
    write_item(written, *item);
    boost::json::parse_options options;
    options.max_depth = 256;
    const auto again = boost::json::parse(written.text(), {}, options);
    BOOST_TEST((read_item(again).value() == *item));
    if (written.text().find("S\":[") == std::string::npos) BOOST_TEST((again == json));
    std::string bytes;
    append_item(bytes, *item);
    BOOST_TEST((decode_item(bytes).value() == *item));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(the_recorded_cases)

BOOST_AUTO_TEST_CASE(refuse_the_same_values_with_the_same_words) {
    std::size_t refused = 0;
    std::size_t taken = 0;
    for (const auto& record : recorded("types-numbers")) {
        const auto name = text(record, "case");
        // These cases depend on the key of the table.
        const bool about_keys =
            name.find("key") != std::string::npos || name.find("range-order") != std::string::npos;
        if (text(record, "op") != "PutItem" || about_keys) continue;
        const auto expected = expected_fault(record);
        BOOST_TEST(fault(record.at("request").at("Item")) == expected, name);
        ++(expected.empty() ? taken : refused);
    }
    BOOST_TEST(refused > 60);
    BOOST_TEST(taken > 60);
}

BOOST_AUTO_TEST_CASE(have_items_that_are_written_as_recorded) {
    std::size_t items = 0;
    for (const auto* topic : {"types-numbers", "put-get", "update-expressions", "query", "scan"}) {
        for (const auto& record : recorded(topic)) {
            each_item(record.at("response"), [&](const boost::json::value& item) {
                comes_back(item);
                ++items;
            });
        }
    }
    BOOST_TEST(items > 1000);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
