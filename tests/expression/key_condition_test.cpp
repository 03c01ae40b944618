#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "expression/ask.hpp"

namespace rocklock::proof {

namespace {

using expression::KeyRange;
using expression::RequestKind;

const expression::KeySchema numbered{
    {"pk", AttributeType::string, KeyRole::hash},
    KeyAttribute{"sk", AttributeType::number, KeyRole::range},
};
const expression::KeySchema named{
    {"pk", AttributeType::string, KeyRole::hash},
    KeyAttribute{"sk", AttributeType::string, KeyRole::range},
};
const expression::KeySchema single{{"pk", AttributeType::string, KeyRole::hash}, {}};

Result<KeyRange> range_of(const ExpressionParameters& parameters,
                          const expression::KeySchema& schema) {
    const auto read = expression::read_expressions(RequestKind::query, parameters);
    if (!read) return read.error();
    return expression::key_range(read->key_clauses, schema);
}

Result<KeyRange> range_of(std::string_view text, const ValueList& values,
                          const expression::KeySchema& schema = numbered) {
    ExpressionParameters parameters;
    parameters.key_condition = text;
    parameters.placeholders = placeholders({}, values);
    return range_of(parameters, schema);
}

std::string fault_of(std::string_view text, const ValueList& values,
                     const expression::KeySchema& schema = numbered) {
    const auto range = range_of(text, values, schema);
    return range ? "" : range.error().message;
}

// Returns which of the range keys 1 to 5 meet the condition.
std::string within(std::string_view condition) {
    const std::string text = "pk = :p AND " + std::string(condition);
    const ValueList values{{":p", "p"}, {":two", number(2)}, {":four", number(4)}};
    std::string found;
    ValueList used;
    for (const auto& value : values) {
        if (text.find(value.first) != std::string::npos) used.push_back(value);
    }
    const KeyRange range = range_of(text, used).value();
    for (int i = 1; i <= 5; ++i) {
        if (range.contains(number(i))) found += std::to_string(i);
    }
    return found;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(a_key_condition)

BOOST_AUTO_TEST_CASE(is_a_range_of_keys) {
    BOOST_TEST(within("sk = :two") == "2");
    BOOST_TEST(within("sk < :two") == "1");
    BOOST_TEST(within("sk <= :two") == "12");
    BOOST_TEST(within("sk > :four") == "5");
    BOOST_TEST(within("sk >= :four") == "45");
    BOOST_TEST(within("sk BETWEEN :two AND :four") == "234");
}

BOOST_AUTO_TEST_CASE(may_name_the_value_first) {
    BOOST_TEST(within(":two = sk") == "2");
    BOOST_TEST(within(":two < sk") == "345");
    BOOST_TEST(within(":two <= sk") == "2345");
    BOOST_TEST(within(":four > sk") == "123");
    BOOST_TEST(within(":four >= sk") == "1234");
}

BOOST_AUTO_TEST_CASE(may_be_a_prefix_of_texts_and_bytes) {
    const KeyRange range =
        range_of("begins_with(sk, :s) AND pk = :p", {{":p", "p"}, {":s", "ab"}}, named).value();
    BOOST_TEST((range.hash == AttributeValue("p")));
    BOOST_TEST(range.contains("ab"));
    BOOST_TEST(range.contains("abc"));
    BOOST_TEST(!range.contains("aa"));
    BOOST_TEST(!range.contains("ac"));
}

BOOST_AUTO_TEST_CASE(of_the_hash_key_alone_is_all_of_its_items) {
    const KeyRange range = range_of("pk = :p", {{":p", "p"}}).value();
    BOOST_TEST(range.contains(number("-1e100")));
    BOOST_TEST(!range.lower.has_value());
    BOOST_TEST(!range.upper.has_value());
    BOOST_TEST(!range.prefix.has_value());
}

BOOST_AUTO_TEST_CASE(reports_conditions_that_keys_do_not_support) {
    const ValueList values{{":p", "p"}, {":s", number(1)}};
    const std::string missed = "Query condition missed key schema element: ";
    const std::string condition = "Invalid condition in KeyConditionExpression: ";
    BOOST_TEST(fault_of("pk = :p AND v = :s", values) == missed + "sk");
    BOOST_TEST(fault_of("sk = :s AND v = :p", values) == missed + "pk");
    BOOST_TEST(fault_of("pk = :p AND sk = :s", values, single) ==
               "Query key condition not supported");
    BOOST_TEST(fault_of(":p = :s", values) == condition + "No key attribute specified");
    BOOST_TEST(fault_of("pk = :p AND :s BETWEEN sk AND sk", values) ==
               condition + "BETWEEN operator must have the key attribute as its first operand");
    BOOST_TEST(fault_of("pk = :p AND sk.x = :s", values) ==
               "Invalid KeyConditionExpression: KeyConditionExpressions cannot have conditions on "
               "nested attributes");
    BOOST_TEST(fault_of("pk = :p AND (sk = :s OR sk > :s)", values) ==
               "Invalid operator used in KeyConditionExpression: OR");
    BOOST_TEST(fault_of("pk = :p AND attribute_type(sk, :t)", {{":p", "p"}, {":t", "S"}}) ==
               "Invalid operator used in KeyConditionExpression: attribute_type");
}

BOOST_AUTO_TEST_CASE(reports_values_that_a_key_cannot_have) {
    const std::string type =
        "One or more parameter values were invalid: Condition parameter type does not match "
        "schema type";
    BOOST_TEST(fault_of("pk = :p", {{":p", number(1)}}) == type);
    BOOST_TEST(fault_of("pk = :p AND sk = :s", {{":p", "p"}, {":s", "1"}}) == type);
    BOOST_TEST(fault_of("pk = :p", {{":p", ""}}) ==
               "One or more parameter values are not valid. The AttributeValue for a key attribute "
               "cannot contain an empty string value. Key: pk");
}

BOOST_AUTO_TEST_CASE(leaves_the_keys_to_no_filter) {
    const auto fault = [](std::string_view filter, const ValueList& values) {
        ExpressionParameters parameters;
        parameters.key_condition = "pk = :p";
        parameters.filter = filter;
        ValueList all = values;
        all.emplace_back(":p", "p");
        parameters.placeholders = placeholders({}, all);
        const auto read = expression::read_expressions(RequestKind::query, parameters);
        const auto error = check_filter(*read.value().filter, numbered, false);
        return error ? error->message : "";
    };
    BOOST_TEST(fault("v = :v AND w.sk <> :v", {{":v", number(1)}}).empty());
    BOOST_TEST(fault("v = :v AND NOT attribute_exists(sk)", {{":v", number(1)}}) ==
               "Filter Expression can only contain non-primary key attributes: Primary key "
               "attribute: sk");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(legacy_key_conditions)

BOOST_AUTO_TEST_CASE(are_the_same_ranges) {
    ExpressionParameters parameters;
    parameters.key_conditions = {{{"sk", ComparisonOperator::between, {number(2), number(4)}},
                                  {"pk", ComparisonOperator::eq, {AttributeValue("p")}}}};
    const KeyRange range = range_of(parameters, numbered).value();
    BOOST_TEST((range.hash == AttributeValue("p")));
    BOOST_TEST(!range.contains(number(1)));
    BOOST_TEST(range.contains(number(4)));
    BOOST_TEST(!range.contains(number(5)));
}

BOOST_AUTO_TEST_CASE(reject_comparisons_that_keys_do_not_support) {
    for (const auto comparison : {ComparisonOperator::ne, ComparisonOperator::in,
                                  ComparisonOperator::contains, ComparisonOperator::not_contains}) {
        ExpressionParameters parameters;
        parameters.key_conditions = {{{"pk", ComparisonOperator::eq, {AttributeValue("p")}},
                                      {"sk", comparison, {number(1)}}}};
        BOOST_TEST(range_of(parameters, numbered).error().message ==
                   "Attempted conditional constraint is not an indexable operation");
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::proof
