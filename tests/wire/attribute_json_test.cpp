#include "wire/json/attribute_json.hpp"

#include <string>
#include <string_view>

#include <boost/json/parse.hpp>
#include <boost/test/unit_test.hpp>

#include "item/random_values.hpp"

namespace rocklock::testing {
namespace {

boost::json::value parsed(std::string_view text) {
    boost::json::parse_options options;
    options.max_depth = 256;
    return boost::json::parse(text, {}, options);
}

Result<AttributeValue> read(std::string_view text) { return read_attribute_value(parsed(text)); }

std::string written(const AttributeValue& value) {
    JsonWriter json;
    write_attribute_value(json, value);
    return json.take();
}

// Returns the message of the ValidationException.
std::string invalid(std::string_view text) {
    const auto value = read(text);
    if (value) return "";
    BOOST_TEST((value.error().code == ErrorCode::invalid_argument), text);
    return value.error().message;
}

// Returns whether the error is a SerializationException.
bool malformed(std::string_view text) {
    const auto value = read(text);
    return !value && value.error().code == ErrorCode::malformed;
}

std::string nested(std::size_t levels, std::string_view open, std::string_view close) {
    std::string text;
    for (std::size_t level = 1; level < levels; ++level) text += open;
    text += R"({"S":"x"})";
    for (std::size_t level = 1; level < levels; ++level) text += close;
    return text;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(the_json_of_a_value)

BOOST_AUTO_TEST_CASE(is_read_and_written_like_the_service) {
    for (const std::string text : {
             R"({"S":"x"})",
             R"({"S":""})",
             R"({"N":"-1.5"})",
             R"({"B":"AQ=="})",
             R"({"B":""})",
             R"({"BOOL":true})",
             R"({"BOOL":false})",
             R"({"NULL":true})",
             R"({"L":[]})",
             R"({"L":[{"S":"a"},{"L":[{"N":"1"}]},{"NULL":true}]})",
             R"({"M":{}})",
             R"({"M":{"a":{"S":"b"},"c":{"M":{"d":{"N":"2"}}}}})",
             R"({"SS":["","a","b"]})",
             R"({"NS":["-1","0.5","2"]})",
             R"({"BS":["AQ==","Ag=="]})",
         }) {
        BOOST_TEST(written(read(text).value()) == text);
    }
}

BOOST_AUTO_TEST_CASE(is_parsed_to_the_same_value) {
    RandomValues random(1);
    for (int i = 0; i < 3'000; ++i) {
        const Item item = random.map();
        JsonWriter json;
        write_item(json, item);
        const auto read = read_item(parsed(json.text()));
        BOOST_REQUIRE(read);
        BOOST_TEST((*read == item));
    }
}

BOOST_AUTO_TEST_CASE(has_the_escapes_that_json_requires) {
    const AttributeValue value(AttributeMap{{"a\"b", std::string("\0\n\xC3\xA9", 4)}});
    BOOST_TEST(written(value) == R"({"M":{"a\"b":{"S":"\u0000\n)"
                                 "\xC3\xA9"
                                 R"("}}})");
    BOOST_TEST((read(written(value)).value() == value));
    BOOST_TEST((read(R"({"S":"\u00e9\ud83d\ude00"})").value() ==
                AttributeValue("\xC3\xA9\xF0\x9F\x98\x80")));
}

// DynamoDB normalises numbers.
BOOST_AUTO_TEST_CASE(has_numbers_in_their_normal_form) {
    BOOST_TEST(written(read(R"({"L":[{"N":"+01.50e1"},{"NS":["1e2","-0"]}]})").value()) ==
               R"({"L":[{"N":"15"},{"NS":["0","100"]}]})");
}

// A value has exactly one data type.
BOOST_AUTO_TEST_CASE(has_exactly_one_type) {
    const auto empty =
        "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes";
    const auto several =
        "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the "
        "supported datatypes";
    BOOST_TEST(invalid("{}") == empty);
    BOOST_TEST(invalid(R"({"X":"a"})") == empty);
    BOOST_TEST(invalid(R"({"s":"a"})") == empty);
    BOOST_TEST(invalid(R"({"S":null})") == empty);
    BOOST_TEST(invalid("null") == empty);
    BOOST_TEST(invalid(R"({"L":[{"S":"a"},{}]})") == empty);
    BOOST_TEST(invalid(R"({"S":"a","N":"1"})") == several);
    BOOST_TEST(invalid(R"({"M":{"x":{"S":"a","BOOL":true}}})") == several);
    BOOST_TEST((read(R"({"S":"a","N":null,"X":5})").value() == AttributeValue("a")));
}

// DynamoDB checks values at every depth.
BOOST_AUTO_TEST_CASE(has_a_value_that_its_type_allows) {
    const std::string prefix = "One or more parameter values were invalid: ";
    const auto null = prefix + "Null attribute value types must have the value of true";
    BOOST_TEST(invalid(R"({"NULL":false})") == null);
    BOOST_TEST(invalid(R"({"L":[{"NULL":false}]})") == null);
    BOOST_TEST(invalid(R"({"SS":[]})") == prefix + "An string set  may not be empty");
    BOOST_TEST(invalid(R"({"M":{"x":{"SS":[]}}})") == prefix + "An string set  may not be empty");
    BOOST_TEST(invalid(R"({"NS":[]})") == prefix + "An number set  may not be empty");
    BOOST_TEST(invalid(R"({"BS":[]})") == prefix + "Binary sets should not be empty");
    BOOST_TEST(invalid(R"({"SS":["b","a","b"]})") ==
               prefix + "Input collection [b, a, b] contains duplicates.");
    BOOST_TEST(invalid(R"({"NS":["1","1.0"]})") == "Input collection contains duplicates");
    BOOST_TEST(invalid(R"({"BS":["AQ==","AQ=="]})") ==
               prefix + "Input collection [AQ==, AQ==]of type BS contains duplicates.");
    BOOST_TEST(invalid(R"({"N":"x"})") ==
               "The parameter cannot be converted to a numeric value: x");
    // The error concerns the numbers, not the set.
    BOOST_TEST(invalid(R"({"NS":["x","y"]})") ==
               "The parameter cannot be converted to a numeric value: x");
}

// Values of the wrong JSON type are malformed.
BOOST_AUTO_TEST_CASE(has_strings_lists_and_maps_where_they_belong) {
    for (const auto* text : {
             R"({"S":5})",
             R"({"N":5})",
             R"({"N":1.5})",
             R"({"S":true})",
             R"({"S":["a"]})",
             R"({"S":{"a":1}})",
             R"({"B":5})",
             R"({"BOOL":"maybe"})",
             R"({"BOOL":1})",
             R"({"NULL":"x"})",
             R"({"L":"a"})",
             R"({"L":{}})",
             R"({"M":[]})",
             R"({"M":"a"})",
             R"({"SS":"a"})",
             R"({"SS":[1]})",
             R"({"SS":[null]})",
             R"({"NS":[1]})",
             R"({"BS":["$$$"]})",
             R"("a")",
             R"([])",
             "5",
             R"({"M":{"a":"b"}})",
             R"({"L":["a"]})",
             R"({"B":"$$$"})",
             R"({"B":"abc"})",
             R"({"B":"-_-_"})",
             R"({"SS":{}})",
         }) {
        BOOST_TEST(malformed(text), text);
    }
    BOOST_TEST(read(R"({"S":5})").error().message == "NUMBER_VALUE cannot be converted to String");
}

BOOST_AUTO_TEST_CASE(has_words_for_truth) {
    for (const auto* word : {"true", "TRUE", "1", "yes", "Yes"}) {
        const auto text = R"({"BOOL":")" + std::string(word) + "\"}";
        BOOST_TEST((read(text).value() == AttributeValue(true)), word);
    }
    for (const auto* word : {"false", "False", "0", "no"}) {
        const auto text = R"({"BOOL":")" + std::string(word) + "\"}";
        BOOST_TEST((read(text).value() == AttributeValue(false)), word);
    }
    for (const auto* word : {"", "t", "truely", "10"}) {
        BOOST_TEST(malformed(R"({"BOOL":")" + std::string(word) + "\"}"), word);
    }
}

// DynamoDB's limit for nested attributes.
BOOST_AUTO_TEST_CASE(has_at_most_32_levels) {
    BOOST_TEST(invalid(nested(32, R"({"L":[)", "]}")) == "");
    BOOST_TEST(invalid(nested(32, R"({"M":{"m":)", "}}")) == "");
    const auto limit =
        "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels "
        "beyond supported limit";
    for (const std::size_t levels : {33U, 34U, 60U}) {
        BOOST_TEST(invalid(nested(levels, R"({"L":[)", "]}")) == limit);
        BOOST_TEST(invalid(nested(levels, R"({"M":{"m":)", "}}")) == limit);
    }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(the_values_of_a_request)

// A value that cannot be parsed is reported before an invalid one, wherever the two are.
BOOST_AUTO_TEST_CASE(are_malformed_before_they_are_invalid) {
    AttributeReader reader;
    reader.map(parsed(R"({"a":{},"b":{"N":"x"}})"));
    BOOST_TEST(!reader.malformed());
    BOOST_REQUIRE(reader.invalid());
    const auto first = reader.invalid()->message;
    reader.map(parsed(R"({"c":{"SS":[]},"d":{"S":5}})"));
    BOOST_REQUIRE(reader.malformed());
    BOOST_TEST((reader.fault()->code == ErrorCode::malformed));
    // The first invalid value is reported.
    BOOST_TEST(reader.invalid()->message == first);
    BOOST_TEST(first.starts_with("Supplied AttributeValue is empty"));
}

// The error names the placeholder.
BOOST_AUTO_TEST_CASE(of_placeholders_are_named_in_faults) {
    AttributeReader reader;
    const auto values = reader.placeholders(parsed(R"({":b":{"S":"x"},":a":{"N":"1"}})"));
    BOOST_TEST_REQUIRE(values.size() == 2U);
    BOOST_TEST(values[0].placeholder == ":b");
    BOOST_TEST((values[0].value == AttributeValue("x")));
    BOOST_TEST(values[1].placeholder == ":a");
    BOOST_TEST((values[1].value == Number(1)));
    BOOST_TEST(!reader.fault());
    reader.placeholders(parsed(R"({":ok":{"N":"1"},":v":{"L":[{"N":""}]},":w":{}})"));
    BOOST_REQUIRE(reader.invalid());
    BOOST_TEST(reader.invalid()->message ==
               "ExpressionAttributeValues contains invalid value: The parameter cannot be "
               "converted to a numeric value for key :v");
}

BOOST_AUTO_TEST_CASE(are_malformed_if_they_are_not_a_map) {
    for (const auto* text : {"5", "[]", R"("x")"}) {
        AttributeReader items;
        items.map(parsed(text));
        BOOST_TEST(items.malformed().has_value(), text);
        AttributeReader placeholders;
        placeholders.placeholders(parsed(text));
        BOOST_TEST(placeholders.malformed().has_value(), text);
    }
    AttributeReader reader;
    reader.placeholders(parsed(R"({":a":5})"));
    BOOST_TEST(reader.malformed().has_value());
}

BOOST_AUTO_TEST_CASE(keep_the_fault_that_was_there_before_the_placeholders) {
    AttributeReader reader;
    reader.map(parsed(R"({"a":{}})"));
    reader.placeholders(parsed(R"({":a":{"N":"x"}})"));
    BOOST_TEST(reader.invalid()->message.starts_with("Supplied"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
