#include "wire/json/json_writer.hpp"

#include <string>

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

BOOST_AUTO_TEST_CASE(finds_a_byte_to_escape_at_any_position) {
    for (std::size_t size = 1; size < 40; ++size) {
        for (std::size_t position = 0; position < size; ++position) {
            for (const int byte : {0x00, 0x1F, 0x20, 0x22, 0x5C, 0x7E, 0x7F, 0x80, 0xFF}) {
                std::string text(size, 'x');
                // Bytes next to which a subtraction could carry.
                if (position + 1 < size) text[position + 1] = '\xA2';
                text[position] = static_cast<char>(byte);
                std::string expected;
                for (const char letter : text) {
                    const auto code = static_cast<unsigned char>(letter);
                    if (letter == '"' || letter == '\\') {
                        expected += std::string("\\") + letter;
                    } else if (code < 0x20 || code == 0x7F) {
                        expected += code == 0 ? "\\u0000" : code == 0x7F ? "\\u007f" : "\\u001f";
                    } else {
                        expected += letter;
                    }
                }
                JsonWriter json;
                json.string(text);
                BOOST_TEST(json.take() == '"' + expected + '"');
                json = JsonWriter();
                json.foreign_key(text);
                BOOST_TEST(json.text() == '"' + expected + "\":");
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(writes_text_of_any_size) {
    std::string expected = "[";
    JsonWriter json;
    json.begin_array();
    for (std::size_t size = 0; size < 600; size = size * 3 / 2 + 1) {
        const std::string text(size, 'x');
        json.string(text);
        json.string(text + '\n');
        json.number(size);
        json.decimal_string(rocklock::Number(size));
        expected += (size > 0 ? ",\"" : "\"") + text + "\",\"" + text + "\\n\"," +
                    std::to_string(size) + ",\"" + std::to_string(size) + '"';
        BOOST_TEST(json.text() == expected);
    }
    json.end_array();
    BOOST_TEST(json.take() == expected + "]");
}

BOOST_AUTO_TEST_SUITE_END()
