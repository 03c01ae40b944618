#include "item/item_limits.hpp"

#include <array>
#include <string>

#include <boost/test/unit_test.hpp>

#include "item/capacity.hpp"
#include "item/random_values.hpp"

namespace rocklock {
namespace {

constexpr KeyAttribute hash_key{"pk", AttributeType::string, KeyRole::hash};
constexpr KeyAttribute range_key{"sk", AttributeType::string, KeyRole::range};

std::string fault(const Result<void>& result) {
    if (result) return "";
    BOOST_TEST((result.error().code == ErrorCode::invalid_argument));
    return result.error().message;
}

AttributeValue nested(std::size_t levels) {
    AttributeValue value = "leaf";
    for (std::size_t level = 1; level < levels; ++level) {
        value = level % 2 == 0 ? AttributeValue(AttributeMap{{"m", value}})
                               : AttributeValue(AttributeList{value});
    }
    return value;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(an_item)

// DynamoDB's limit of 400 KB for an item, names included.
BOOST_AUTO_TEST_CASE(has_at_most_400_kilobytes) {
    Item item{{"pk", "a"}, {"v", std::string(409'600 - 4, 'x')}};
    BOOST_TEST(size_bytes(item) == 409'600);
    BOOST_TEST(fault(check_item(item, ItemWrite::put)) == "");
    item.set("v", std::string(409'600 - 3, 'x'));
    BOOST_TEST(fault(check_item(item, ItemWrite::put)) ==
               "Item size has exceeded the maximum allowed size");
    BOOST_TEST(fault(check_item(item, ItemWrite::update)) ==
               "Item size to update has exceeded the maximum allowed size");
}

BOOST_AUTO_TEST_CASE(has_a_size_that_is_the_sum_of_its_parts) {
    testing::RandomValues random(1);
    for (int i = 0; i < 50; ++i) {
        Item item = random.map();
        // Fills the item exactly to the limit, and then exceeds the limit.
        item.set("fill", std::string());
        item.set("fill", std::string(409'600 - size_bytes(item), 'x'));
        BOOST_TEST(fault(check_item(item, ItemWrite::put)) == "");
        item.set("more", "");
        BOOST_TEST(fault(check_item(item, ItemWrite::put)) ==
                   "Item size has exceeded the maximum allowed size");
    }
}

// DynamoDB's limit for nested attributes.
BOOST_AUTO_TEST_CASE(has_at_most_32_levels) {
    BOOST_TEST(fault(check_item({{"v", nested(32)}}, ItemWrite::put)) == "");
    BOOST_TEST(fault(check_item({{"v", nested(33)}}, ItemWrite::put)) ==
               "Nesting Levels have exceeded supported limits: Attributes in the item have nested "
               "levels beyond supported limit");
    BOOST_TEST(fault(check_nesting(nested(32))) == "");
    BOOST_TEST(fault(check_nesting(nested(33))) != "");
}

// DynamoDB's limit for the length of an attribute name.
BOOST_AUTO_TEST_CASE(has_names_of_1_to_65535_bytes) {
    const auto empty = "Empty attribute name";
    BOOST_TEST(fault(check_item({{"", "a"}}, ItemWrite::put)) == empty);
    BOOST_TEST(fault(check_item({{"m", AttributeMap{{"", "a"}}}}, ItemWrite::put)) == empty);
    BOOST_TEST(fault(check_item({{"l", AttributeValue(AttributeList{AttributeMap{{"", "a"}}})}},
                                ItemWrite::put)) == empty);
    BOOST_TEST(fault(check_item({{std::string(65'535, 'n'), "a"}}, ItemWrite::put)) == "");
    BOOST_TEST(fault(check_item({{std::string(65'536, 'n'), "a"}}, ItemWrite::put)) != "");
}

// The error messages are those of PutItem.
BOOST_AUTO_TEST_CASE(has_the_key_of_its_table) {
    const std::string prefix = "One or more parameter values were invalid: ";
    BOOST_TEST(fault(check_key_of_item({{"pk", "a"}}, hash_key)) == "");
    BOOST_TEST(fault(check_key_of_item({{"v", "a"}}, hash_key)) ==
               prefix + "Missing the key pk in the item");
    BOOST_TEST(fault(check_key_of_item({{"pk", Number(5)}}, hash_key)) ==
               prefix + "Type mismatch for key pk expected: S actual: N");
    BOOST_TEST(fault(check_key_of_item({{"pk", Null{}}}, hash_key)) ==
               prefix + "Type mismatch for key pk expected: S actual: NULL");
    BOOST_TEST(fault(check_key_of_item({{"sk", ""}}, range_key)) ==
               "One or more parameter values are not valid. The AttributeValue for a key attribute "
               "cannot contain an empty string value. Key: sk");
}

BOOST_AUTO_TEST_CASE(needs_exactly_the_attributes_of_its_key) {
    const std::array parts = {hash_key, range_key};
    const auto mismatch = "The provided key element does not match the schema";
    BOOST_TEST(fault(check_key({{"pk", "a"}, {"sk", "b"}}, parts)) == "");
    BOOST_TEST(fault(check_key({{"pk", "a"}}, parts)) == mismatch);
    BOOST_TEST(fault(check_key({{"pk", "a"}, {"sk", "b"}, {"v", "c"}}, parts)) == mismatch);
    BOOST_TEST(fault(check_key({{"pk", "a"}, {"v", "c"}}, parts)) == mismatch);
    BOOST_TEST(fault(check_key({{"pk", "a"}, {"sk", Number(5)}}, parts)) == mismatch);
    BOOST_TEST(fault(check_key({{"pk", ""}, {"sk", "b"}}, parts)) ==
               "One or more parameter values are not valid. The AttributeValue for a key attribute "
               "cannot contain an empty string value. Key: pk");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(the_value_of_a_key)

BOOST_AUTO_TEST_CASE(is_not_empty) {
    const KeyAttribute binary_key{"pk", AttributeType::binary, KeyRole::hash};
    const KeyAttribute number_key{"pk", AttributeType::number, KeyRole::hash};
    BOOST_TEST(fault(check_key_value(Binary{}, binary_key)) ==
               "One or more parameter values are not valid. The AttributeValue for a key attribute "
               "cannot contain an empty binary value. Key: pk");
    BOOST_TEST(fault(check_key_value(Binary{std::string(1, '\0')}, binary_key)) == "");
    BOOST_TEST(fault(check_key_value(Number(), number_key)) == "");
}

BOOST_AUTO_TEST_CASE(is_not_longer_than_its_part_of_the_key_may_be) {
    BOOST_TEST(fault(check_key_value(std::string(2'048, 'k'), hash_key)) == "");
    BOOST_TEST(
        fault(check_key_value(std::string(2'049, 'k'), hash_key)) ==
        "One or more parameter values were invalid: Size of hashkey has exceeded the maximum "
        "size limit of2048 bytes");
    BOOST_TEST(fault(check_key_value(std::string(1'024, 'k'), range_key)) == "");
    BOOST_TEST(fault(check_key_value(std::string(1'025, 'k'), range_key)) ==
               "One or more parameter values were invalid: Aggregated size of all range keys has "
               "exceeded the size limit of 1024 bytes");
}

BOOST_AUTO_TEST_SUITE_END()

// DynamoDB's units of capacity.
BOOST_AUTO_TEST_SUITE(consumed_capacity)

BOOST_AUTO_TEST_CASE(of_a_write_is_a_unit_a_kilobyte) {
    BOOST_TEST(write_units(0) == 1);
    BOOST_TEST(write_units(1) == 1);
    BOOST_TEST(write_units(1'024) == 1);
    BOOST_TEST(write_units(1'025) == 2);
    BOOST_TEST(write_units(409'600) == 400);
}

BOOST_AUTO_TEST_CASE(of_a_read_is_half_a_unit_four_kilobytes_and_twice_that_when_consistent) {
    BOOST_TEST(read_units(0, false) == 0.5);
    BOOST_TEST(read_units(4'096, false) == 0.5);
    BOOST_TEST(read_units(4'097, false) == 1);
    BOOST_TEST(read_units(0, true) == 1);
    BOOST_TEST(read_units(4'097, true) == 2);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock
