#include <rocklock/items/attribute_value.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace rocklock {
namespace {

Number number(std::string_view text) { return Number::parse(text).value(); }

StringSet strings(std::vector<std::string> members) {
    return StringSet::make(std::move(members)).value();
}

NumberSet numbers(const std::vector<std::string>& texts) {
    std::vector<Number> members;
    for (const auto& text : texts) members.push_back(number(text));
    return NumberSet::make(std::move(members)).value();
}

BinarySet binaries(const std::vector<std::string>& members) {
    std::vector<Binary> made;
    for (const auto& bytes : members) made.push_back({bytes});
    return BinarySet::make(std::move(made)).value();
}

std::vector<std::string> names_of(const AttributeMap& map) {
    std::vector<std::string> names;
    for (const auto& [name, value] : map) names.push_back(name);
    return names;
}

// Returns a value of each type.
std::vector<AttributeValue> one_of_each() {
    return {"text",
            Number(5),
            Binary{"\x01"},
            true,
            Null{},
            AttributeValue(AttributeList{"a", Number(1)}),
            AttributeMap{{"a", "b"}},
            strings({"a"}),
            numbers({"1"}),
            binaries({"\x01"})};
}

AttributeValue nested(std::size_t levels, bool in_maps) {
    AttributeValue value = "leaf";
    for (std::size_t level = 1; level < levels; ++level) {
        value = in_maps ? AttributeValue(AttributeMap{{"m", value}})
                        : AttributeValue(AttributeList{value});
    }
    return value;
}

template <typename Set>
std::string fault(const Result<Set>& result) {
    if (result) return "";
    BOOST_TEST((result.error().code == ErrorCode::invalid_argument));
    return result.error().message;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(an_attribute_value)

BOOST_AUTO_TEST_CASE(has_one_of_ten_types) {
    const std::vector<std::string> names = {"S", "N", "B",  "BOOL", "NULL",
                                            "L", "M", "SS", "NS",   "BS"};
    const auto values = one_of_each();
    BOOST_REQUIRE(values.size() == names.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
        BOOST_TEST(to_string(values[i].type()) == names[i]);
        BOOST_TEST((parse_attribute_type(names[i]) == values[i].type()));
    }
    BOOST_TEST(!parse_attribute_type("X"));
    BOOST_TEST(!parse_attribute_type("s"));
    BOOST_TEST((AttributeValue().type() == AttributeType::null));
}

BOOST_AUTO_TEST_CASE(is_equal_only_to_the_same_value) {
    const auto values = one_of_each();
    const auto same = one_of_each();
    for (std::size_t i = 0; i < values.size(); ++i) {
        for (std::size_t j = 0; j < same.size(); ++j)
            BOOST_TEST((values[i] == same[j]) == (i == j));
    }
    BOOST_TEST((AttributeValue(false) != AttributeValue(true)));
    BOOST_TEST((AttributeValue("5") != AttributeValue(Number(5))));
}

// DynamoDB compares sets without regard to order, lists in order, maps by name and numbers by
// value, at every depth.
BOOST_AUTO_TEST_CASE(is_compared_as_a_whole) {
    const AttributeValue left(AttributeList{AttributeMap{{"a", numbers({"1", "2"})}, {"b", "x"}}});
    const AttributeValue right(
        AttributeList{AttributeMap{{"b", "x"}, {"a", numbers({"2.0", "1e0"})}}});
    BOOST_TEST((left == right));
    BOOST_TEST((AttributeList{"a", "b"} != AttributeList{"b", "a"}));
    BOOST_TEST((AttributeMap{{"a", "b"}} != AttributeMap{{"a", "b"}, {"c", "d"}}));
}

// Strings are ordered by their UTF-8 bytes and binary values by unsigned bytes. A prefix is less
// than the longer value.
BOOST_AUTO_TEST_CASE(is_ordered_within_its_type_if_the_type_is_ordered) {
    BOOST_TEST((compare("\xEF\xBF\xBD", "\xF0\x9F\x98\x80") == std::strong_ordering::less));
    BOOST_TEST((compare("a", "ab") == std::strong_ordering::less));
    BOOST_TEST((compare("a", "a") == std::strong_ordering::equal));
    BOOST_TEST((compare(Binary{"\x7F"}, Binary{"\x80"}) == std::strong_ordering::less));
    BOOST_TEST((compare(number("10"), number("9")) == std::strong_ordering::greater));
    const auto values = one_of_each();
    for (std::size_t i = 0; i < values.size(); ++i) {
        for (std::size_t j = 0; j < values.size(); ++j) {
            BOOST_TEST(compare(values[i], values[j]).has_value() == (i == j && i < 3));
        }
    }
}

// DynamoDB's item size rules.
BOOST_AUTO_TEST_CASE(has_the_size_that_the_service_counts) {
    BOOST_TEST(size_bytes(AttributeValue("h\xC3\xA9")) == 3);
    BOOST_TEST(size_bytes(AttributeValue(Binary{"abc"})) == 3);
    BOOST_TEST(size_bytes(AttributeValue(true)) == 1);
    BOOST_TEST(size_bytes(AttributeValue(Null{})) == 1);
    BOOST_TEST(size_bytes(AttributeValue(number("-12.5"))) == 4);
    BOOST_TEST(size_bytes(AttributeValue(strings({"a", "bc", ""}))) == 3);
    BOOST_TEST(size_bytes(AttributeValue(numbers({"1", "100.5"}))) == 2 + 4);
    BOOST_TEST(size_bytes(AttributeValue(binaries({"abc", "d"}))) == 4);
    BOOST_TEST(size_bytes(AttributeValue(AttributeList{})) == 3);
    BOOST_TEST(size_bytes(AttributeValue(AttributeMap{})) == 3);
    BOOST_TEST(size_bytes(AttributeValue(AttributeList{"abc", Null{}})) == 3 + 4 + 2);
    BOOST_TEST(size_bytes(AttributeValue(AttributeMap{{"name", "abc"}})) == 3 + 1 + 4 + 3);
    BOOST_TEST(size_bytes(Item{{"pk", "abc"}, {"n", Number(1)}}) == 2 + 3 + 1 + 2);
    BOOST_TEST(size_bytes(Item{}) == 0);
}

// A scalar counts as one level.
BOOST_AUTO_TEST_CASE(counts_its_nested_levels) {
    BOOST_TEST(nesting_depth("a") == 1);
    BOOST_TEST(nesting_depth(strings({"a"})) == 1);
    BOOST_TEST(nesting_depth(nested(32, false)) == 32);
    BOOST_TEST(nesting_depth(nested(33, true)) == 33);
    BOOST_TEST(nesting_depth(AttributeValue(AttributeList{"a", nested(4, true), "b"})) == 5);
    BOOST_TEST(nesting_depth(AttributeValue(AttributeList{})) == 1);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_set)

// The error messages are DynamoDB's own.
BOOST_AUTO_TEST_CASE(is_not_empty) {
    const std::string prefix = "One or more parameter values were invalid: ";
    BOOST_TEST(fault(StringSet::make({})) == prefix + "An string set  may not be empty");
    BOOST_TEST(fault(NumberSet::make({})) == prefix + "An number set  may not be empty");
    BOOST_TEST(fault(BinarySet::make({})) == prefix + "Binary sets should not be empty");
}

BOOST_AUTO_TEST_CASE(has_no_member_twice) {
    const std::string prefix = "One or more parameter values were invalid: Input collection ";
    BOOST_TEST(fault(StringSet::make({"a", "a"})) == prefix + "[a, a] contains duplicates.");
    BOOST_TEST(fault(StringSet::make({"b", "a", "c", "b"})) ==
               prefix + "[b, a, c, b] contains duplicates.");
    BOOST_TEST(fault(BinarySet::make({Binary{"\x01"}, Binary{"\x01"}})) ==
               prefix + "[AQ==, AQ==]of type BS contains duplicates.");
    BOOST_TEST(fault(NumberSet::make({number("100"), number("7"), number("1e2")})) ==
               "Input collection contains duplicates");
}

BOOST_AUTO_TEST_CASE(keeps_its_members_in_order) {
    const std::vector<std::string> sorted = {"", "a", "b", "\xFF"};
    BOOST_TEST(strings({"b", "\xFF", "", "a"}).members() == sorted);
    const auto set = numbers({"10", "-1", "9", "0.5"});
    BOOST_TEST(std::is_sorted(set.begin(), set.end()));
    BOOST_TEST((set == numbers({"0.5", "9", "10.0", "-1"})));
    BOOST_TEST((set != numbers({"0.5", "9", "10.1", "-1"})));
    BOOST_TEST((binaries({"\x80", "\x7F"}).members().front() == Binary{"\x7F"}));
}

BOOST_AUTO_TEST_CASE(contains_its_members) {
    const auto set = numbers({"1", "2"});
    BOOST_TEST(set.contains(number("2.00")));
    BOOST_TEST(!set.contains(number("3")));
}

BOOST_AUTO_TEST_CASE(has_unions_and_differences) {
    auto set = strings({"a", "c"});
    set.insert(strings({"b", "c", "d"}));
    BOOST_TEST((set == strings({"a", "b", "c", "d"})));
    set.remove(strings({"a", "d", "z"}));
    BOOST_TEST((set == strings({"b", "c"})));
    set.insert(set);
    BOOST_TEST((set == strings({"b", "c"})));
    set.remove(set);
    BOOST_TEST(set.empty());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_map)

BOOST_AUTO_TEST_CASE(is_in_order_of_its_names) {
    const std::vector<std::string> sorted = {"B", "a", "b", "\xFF"};
    BOOST_TEST(names_of(AttributeMap{{"b", "1"}, {"\xFF", "2"}, {"a", "3"}, {"B", "4"}}) == sorted);
}

BOOST_AUTO_TEST_CASE(takes_the_last_value_of_a_name) {
    const AttributeMap map{{"b", "1"}, {"a", "2"}, {"b", "3"}, {"b", "4"}, {"a", "5"}};
    BOOST_TEST((map == AttributeMap{{"a", "5"}, {"b", "4"}}));
    BOOST_TEST((AttributeMap{{"a", "1"}, {"a", "2"}} == AttributeMap{{"a", "2"}}));
}

BOOST_AUTO_TEST_CASE(finds_adds_replaces_and_erases) {
    AttributeMap map{{"b", "1"}, {"d", "2"}};
    map.set("c", "3");
    map.set("b", "4");
    BOOST_TEST((map == AttributeMap{{"b", "4"}, {"c", "3"}, {"d", "2"}}));
    BOOST_REQUIRE(map.find("c") != nullptr);
    *map.find("c") = Number(7);
    BOOST_TEST((*map.find("c") == AttributeValue(Number(7))));
    BOOST_TEST(map.find("a") == nullptr);
    BOOST_TEST(map.find("e") == nullptr);
    BOOST_TEST(map.erase("b"));
    BOOST_TEST(!map.erase("b"));
    BOOST_TEST(!map.contains("b"));
    BOOST_TEST(map.size() == 2);
    BOOST_TEST(AttributeMap().empty());
}

BOOST_AUTO_TEST_CASE(finds_each_of_few_and_of_many_names) {
    for (const int count : {1, 15, 16, 17, 40}) {
        AttributeMap map;
        for (int i = 0; i < count; ++i) map.set("name" + std::to_string(i), Number(i));
        for (int i = 0; i < count; ++i) {
            const auto* value = map.find("name" + std::to_string(i));
            BOOST_REQUIRE(value != nullptr);
            BOOST_TEST((*value == AttributeValue(Number(i))));
        }
        for (const char* absent : {"", "name", "name40", "a", "z"}) {
            BOOST_TEST(map.find(absent) == nullptr);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock
