#include "item/item_codec.hpp"

#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "item/item_limits.hpp"
#include "item/literal.hpp"
#include "item/random_values.hpp"

namespace rocklock::testing {
namespace {

std::string encoded(const Item& item) {
    std::string bytes;
    append_item(bytes, item);
    return bytes;
}

std::string encoded_value(const AttributeValue& value) {
    std::string bytes;
    append_value(bytes, value);
    return bytes;
}

// Checks that decoding `bytes` either fails, or returns an item whose encoding is exactly `bytes`.
// measure_item() must accept and refuse the same bytes.
void is_damage_or_itself(const std::string& bytes) {
    const auto decoded = decode_item(bytes);
    const auto measured = measure_item(bytes);
    BOOST_TEST(measured.has_value() == decoded.has_value());
    if (decoded) {
        BOOST_TEST((encoded(*decoded) == bytes));
        BOOST_TEST(measured.value() == size_bytes(*decoded));
        return;
    }
    BOOST_TEST(measured.error().message == decoded.error().message);
    BOOST_TEST((decoded.error().code == ErrorCode::corrupt ||
                decoded.error().code == ErrorCode::newer_format));
}

bool is_damage(std::string_view bytes) {
    const auto decoded = decode_item(bytes);
    return !decoded && decoded.error().code == ErrorCode::corrupt;
}

AttributeValue nested(std::size_t levels, bool in_maps) {
    AttributeValue value = "leaf";
    for (std::size_t level = 1; level < levels; ++level) {
        value = in_maps ? AttributeValue(AttributeMap{{"m", value}})
                        : AttributeValue(AttributeList{value});
    }
    return value;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(a_stored_item)

BOOST_AUTO_TEST_CASE(is_decoded_to_the_same_value) {
    RandomValues random(1);
    for (int i = 0; i < 5'000; ++i) {
        const Item item = random.map();
        const auto bytes = encoded(item);
        const auto decoded = decode_item(bytes);
        BOOST_REQUIRE(decoded);
        BOOST_TEST((*decoded == item));
        BOOST_TEST((encoded(*decoded) == bytes));
        Item into;
        BOOST_TEST(decode_item(bytes, into).value() == size_bytes(item));
        BOOST_TEST((into == item));
        BOOST_TEST(measure_item(bytes).value() == size_bytes(item));
    }
}

// The bytes are those of docs/storage_format.md, "Items".
BOOST_AUTO_TEST_CASE(has_the_bytes_that_are_documented) {
    const Item item{{"pk", "a"}, {"n", Number(-1500)}, {"ok", true}};
    BOOST_TEST((encoded(item) == literal("\x01\x03"
                                         "\x01n\x11\x09\x0F"
                                         "\x02ok\x13"
                                         "\x02pk\x10"
                                         "a")));
    BOOST_TEST((encoded_value(Number()) == literal("\x01")));
    BOOST_TEST((encoded_value(Number(256)) == literal("\x21\x00\x01\x00")));
    BOOST_TEST((encoded_value(Number::parse("-0.5").value()) == literal("\x11\x03\x05")));
    BOOST_TEST((encoded_value(Null{}) == literal("\x04")));
    BOOST_TEST((encoded_value(false) == literal("\x03")));
    BOOST_TEST((encoded_value(Binary{"xy"}) == "\x22xy"));
    BOOST_TEST((encoded_value(std::string(14, 'x')) == "\xE0" + std::string(14, 'x')));
    BOOST_TEST((encoded_value(std::string(15, 'x')) == literal("\xF0\x00") + std::string(15, 'x')));
    BOOST_TEST((encoded_value(std::string(200, 'x')) == "\xF0\xB9\x01" + std::string(200, 'x')));
    BOOST_TEST((encoded_value(AttributeValue(AttributeList{"a", Null{}})) == literal("\x25\x10"
                                                                                     "a\x04")));
    BOOST_TEST((encoded_value(AttributeMap{{"b", "a"}}) == literal("\x16\x01"
                                                                   "b\x10"
                                                                   "a")));
    BOOST_TEST((encoded_value(StringSet::make({"b", "a"}).value()) == "\x27\x01"
                                                                      "a\x01"
                                                                      "b"));
    BOOST_TEST((encoded_value(NumberSet::make({Number(2), Number(1)}).value()) ==
                literal("\x28\x11\x00\x01\x11\x00\x02")));
    BOOST_TEST((encoded_value(BinarySet::make({Binary{"z"}}).value()) == "\x19\x01z"));
}

BOOST_AUTO_TEST_CASE(has_the_same_bytes_for_any_order_of_insertion) {
    const Item left{{"b", "1"}, {"a", NumberSet::make({Number(2), Number(1)}).value()}};
    Item right{{"a", NumberSet::make({Number(1), Number::parse("2.0").value()}).value()}};
    right.set("c", "gone");
    right.set("b", "1");
    right.erase("c");
    BOOST_TEST(encoded(left) == encoded(right));
}

BOOST_AUTO_TEST_CASE(is_as_deep_as_the_limit_and_no_deeper) {
    for (const bool in_maps : {false, true}) {
        const Item item{{"v", nested(max_nesting_depth, in_maps)}};
        BOOST_TEST((decode_item(encoded(item)).value() == item));
        auto deeper = encoded(item);
        // One more level around the value: the head of a list, or the head of a map and a name.
        deeper.insert(4, in_maps ? "\x16\x01m" : "\x15");
        BOOST_TEST(is_damage(deeper));
    }
}

BOOST_AUTO_TEST_CASE(that_is_truncated_or_too_long_is_damaged) {
    RandomValues random(2);
    for (int i = 0; i < 300; ++i) {
        const auto bytes = encoded(random.map());
        for (std::size_t size = 0; size < bytes.size(); ++size) {
            BOOST_TEST(is_damage(bytes.substr(0, size)));
        }
        BOOST_TEST(is_damage(bytes + '\x01'));
    }
}

BOOST_AUTO_TEST_CASE(with_a_wrong_byte_is_damaged_or_another_item) {
    RandomValues random(3);
    for (int i = 0; i < 2'000; ++i) {
        auto bytes = encoded(random.map());
        for (int change = 0; change < 20; ++change) {
            auto changed = bytes;
            changed[random.below(bytes.size())] = static_cast<char>(random.below(256));
            is_damage_or_itself(changed);
        }
    }
}

BOOST_AUTO_TEST_CASE(of_any_bytes_is_read_without_harm) {
    RandomValues random(4);
    for (int i = 0; i < 20'000; ++i) {
        std::string bytes(random.below(60), '\0');
        for (char& byte : bytes)
            byte = static_cast<char>(random.below(random.below(2) == 0 ? 256 : 26));
        if (!bytes.empty() && random.below(4) != 0) bytes[0] = item_format;
        is_damage_or_itself(bytes);
    }
}

BOOST_AUTO_TEST_CASE(with_a_wrong_count_allocates_no_memory) {
    // A list that claims 2^60 elements; then nested lists, each of which claims to be long.
    BOOST_TEST(is_damage("\x01\x01\x01v\xF5\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x0F"));
    std::string bytes = literal("\x01\x01\x01v");
    for (int level = 0; level < 31; ++level) bytes += "\xF5\xF0\xFF\x3F";
    BOOST_TEST(is_damage(bytes + std::string(1'100'000, '\x10')));
    BOOST_TEST(is_damage("\x01\xFF\xFF\xFF\x7F"));
}

BOOST_AUTO_TEST_CASE(that_is_not_in_its_canonical_encoding_is_damaged) {
    for (const auto& bytes : {
             // Names that are out of order, repeated or empty.
             literal("\x01\x02\x01"
                     "b\x04\x01"
                     "a\x04"),
             literal("\x01\x02\x01"
                     "a\x04\x01"
                     "a\x04"),
             literal("\x01\x01\x00\x04"),
             // Sets that are out of order, contain a member twice or are empty.
             literal("\x01\x01\x01v\x27\x01"
                     "b\x01"
                     "a"),
             literal("\x01\x01\x01v\x28\x11\x00\x01\x11\x00\x01"),
             literal("\x01\x01\x01v\x07"),
             // A set of numbers that contains a string.
             literal("\x01\x01\x01v\x18\x10"
                     "a"),
             // 10 encoded as 10, 1 encoded in two bytes, a negative zero, an exponent that is out
             // of range.
             literal("\x01\x01\x01v\x11\x00\x0A"),
             literal("\x01\x01\x01v\x21\x00\x00\x01"),
             literal("\x01\x01\x01v\x11\x01\x00"),
             literal("\x01\x01\x01v\x11\xF8\x03\x01"),
             // A length that is encoded longer than necessary; unknown types; an invalid boolean.
             literal("\x01\x01\x01v\xF0\x80\x00") + std::string(15, 'x'),
             literal("\x01\x01\x01v\x0A"),
             literal("\x01\x01\x01v\x23"),
             literal("\x01\x01\x01v\x14"),
         }) {
        BOOST_TEST(is_damage(bytes));
    }
    // 125 is the largest exponent.
    BOOST_TEST(!is_damage(literal("\x01\x01\x01v\x11\xF4\x03\x01")));
}

BOOST_AUTO_TEST_CASE(of_a_newer_version_is_reported) {
    const auto decoded = decode_item("\x02anything");
    BOOST_REQUIRE(!decoded);
    BOOST_TEST((decoded.error().code == ErrorCode::newer_format));
}

BOOST_AUTO_TEST_CASE(reports_the_position_of_damage) {
    const auto decoded = decode_item(literal("\x01\x01\x01v\x0A"));
    BOOST_REQUIRE(!decoded);
    BOOST_TEST(decoded.error().message == "a stored item is damaged at byte 5 of 5");
}

BOOST_AUTO_TEST_CASE(has_values_that_can_be_decoded_separately) {
    RandomValues random(5);
    for (int i = 0; i < 2'000; ++i) {
        const auto value = random.value();
        const auto bytes = encoded_value(value);
        BOOST_TEST((decode_value(bytes).value() == value));
        BOOST_TEST(!decode_value(bytes + '\x04'));
    }
    BOOST_TEST(!decode_value(""));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::testing
