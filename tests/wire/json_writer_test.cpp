#include "wire/json/json_writer.hpp"

#include <boost/json/parse.hpp>
#include <boost/test/unit_test.hpp>

using rocklock::JsonWriter;

BOOST_AUTO_TEST_SUITE(a_json_writer)

BOOST_AUTO_TEST_CASE(puts_commas_where_they_belong) {
    JsonWriter json;
    json.begin_object();
    json.key("a");
    json.begin_array();
    json.number(1);
    json.number(-2);
    json.begin_object();
    json.end_object();
    json.end_array();
    json.key("b");
    json.boolean(true);
    json.key("c");
    json.null();
    json.end_object();
    BOOST_TEST(json.take() == R"({"a":[1,-2,{}],"b":true,"c":null})");
}

BOOST_AUTO_TEST_CASE(escapes_control_characters_for_json_and_terminals) {
    JsonWriter json;
    json.string("\"\\\n\r\t\x01\x1b\x7f ü");
    BOOST_TEST(json.take() == R"("\"\\\n\r\t\u0001\u001b\u007f ü")");
}

BOOST_AUTO_TEST_CASE(writes_any_text_so_that_it_can_be_parsed) {
    for (int byte = 0; byte < 0x80; ++byte) {
        const std::string text = "a" + std::string(1, static_cast<char>(byte)) + "z";
        JsonWriter json;
        json.begin_object();
        json.foreign_key(text);
        json.string(text);
        json.end_object();
        const auto read = boost::json::parse(json.take());
        BOOST_TEST(std::string(read.as_object().at(text).as_string()) == text);
    }
}

BOOST_AUTO_TEST_SUITE_END()
