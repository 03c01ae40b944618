#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "expression/ask.hpp"

namespace rocklock::proof {

namespace {

using expression::RequestKind;

constexpr std::string_view mixed =
    "Can not use both expression and non-expression parameters in the same request: "
    "Non-expression parameters: ";

ExpressionParameters everything() {
    ExpressionParameters all;
    all.update = "x";
    all.condition = "x";
    all.key_condition = "x";
    all.filter = "x";
    all.projection = "x";
    all.attribute_updates.emplace();
    all.expected.emplace();
    all.conditional_operator = ConditionalOperator::all;
    all.key_conditions.emplace();
    all.attribute_filter.emplace();
    all.attributes_to_get.emplace();
    return all;
}

AttributeCondition compared(std::string attribute, ComparisonOperator comparison,
                            std::vector<AttributeValue> values) {
    return {std::move(attribute), comparison, std::move(values)};
}

bool expected_holds(const ExpectedAttribute& expected, const Item& item) {
    ExpressionParameters parameters;
    parameters.expected = {{expected}};
    const auto read = expression::read_expressions(RequestKind::put, parameters);
    return holds(*read.value().condition, item);
}

// Returns a random text of words that occur in expressions.
std::string random_text(std::mt19937& random) {
    static const std::vector<std::string> words{"a",
                                                "b.c",
                                                "#n",
                                                ":v",
                                                ":w",
                                                "(",
                                                ")",
                                                "[0]",
                                                "[",
                                                "]",
                                                ",",
                                                ".",
                                                "=",
                                                "<>",
                                                "<",
                                                ">=",
                                                "AND",
                                                "OR",
                                                "NOT",
                                                "BETWEEN",
                                                "IN",
                                                "SET",
                                                "ADD",
                                                "REMOVE",
                                                "DELETE",
                                                "+",
                                                "-",
                                                "size",
                                                "size(",
                                                "contains(",
                                                "attribute_exists(",
                                                "if_not_exists(",
                                                "list_append(",
                                                "status",
                                                "0",
                                                "99999999999",
                                                "\xff",
                                                "€",
                                                " ",
                                                "\n",
                                                "#",
                                                ":",
                                                "'"};
    std::string text;
    for (auto count = random() % 24; count > 0; --count) {
        text += words[random() % words.size()];
        if (random() % 2 == 0) text += ' ';
    }
    return text;
}

const ValueList random_values{{":v", number(1)}, {":w", list({"y"})}};
const Item random_item{{"a", number(1)}, {"b", AttributeMap{{"c", list({"x"})}}}, {"n", "n"}};

// Returns the placeholders that the text uses; unused ones would be an error.
Placeholders placeholders_in(std::string_view text) {
    ValueList values;
    for (const auto& entry : random_values) {
        if (text.find(entry.first) != std::string_view::npos) values.push_back(entry);
    }
    const bool named = text.find("#n") != std::string_view::npos;
    return placeholders(named ? NameList{{"#n", "n"}} : NameList{}, values);
}

std::string asked_as_condition(const std::string& text) {
    ExpressionParameters parameters;
    parameters.condition = text;
    parameters.placeholders = placeholders_in(text);
    const auto read = expression::read_expressions(RequestKind::put, parameters);
    if (!read) return read.error().message;
    return holds(*read->condition, random_item) ? "holds" : "holds not";
}

// Returns the error message, or an empty string if the update can be applied.
std::string asked_as_update(const std::string& text) {
    ExpressionParameters parameters;
    parameters.update = text;
    parameters.placeholders = placeholders_in(text);
    const auto read = expression::read_expressions(RequestKind::update, parameters);
    if (!read) return read.error().message;
    const auto result = apply(*read->update, random_item, true);
    return result ? "" : result.error().message;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(a_request)

BOOST_AUTO_TEST_CASE(has_either_expressions_or_legacy_parameters) {
    const auto fault = [](RequestKind kind) { return request_fault(kind, everything()); };
    BOOST_TEST(fault(RequestKind::get) ==
               std::string(mixed) +
                   "{AttributesToGet} Expression parameters: {ProjectionExpression}");
    BOOST_TEST(fault(RequestKind::put) ==
               std::string(mixed) +
                   "{Expected, ConditionalOperator} Expression parameters: {ConditionExpression}");
    BOOST_TEST(fault(RequestKind::update) ==
               std::string(mixed) +
                   "{AttributeUpdates, Expected, ConditionalOperator} Expression parameters: "
                   "{UpdateExpression, ConditionExpression}");
    BOOST_TEST(fault(RequestKind::query) ==
               std::string(mixed) +
                   "{AttributesToGet, QueryFilter, ConditionalOperator, KeyConditions} Expression "
                   "parameters: {ProjectionExpression, FilterExpression, KeyConditionExpression}");
    BOOST_TEST(fault(RequestKind::scan) ==
               std::string(mixed) +
                   "{AttributesToGet, ScanFilter, ConditionalOperator} Expression parameters: "
                   "{ProjectionExpression, FilterExpression}");
}

BOOST_AUTO_TEST_CASE(may_have_key_conditions_together_with_other_expressions) {
    ExpressionParameters parameters;
    parameters.key_conditions = {{compared("pk", ComparisonOperator::eq, {AttributeValue("p")})}};
    parameters.filter = "attribute_exists(a)";
    parameters.projection = "a";
    BOOST_TEST(request_fault(RequestKind::query, parameters).empty());
}

BOOST_AUTO_TEST_CASE(has_placeholders_only_for_expressions) {
    ExpressionParameters values;
    values.placeholders = placeholders({}, {{":v", number(1)}});
    const std::string only =
        "ExpressionAttributeValues can only be specified when using expressions: ";
    BOOST_TEST(request_fault(RequestKind::put, values) == only + "ConditionExpression is null");
    BOOST_TEST(request_fault(RequestKind::update, values) ==
               only + "UpdateExpression and ConditionExpression are null");
    BOOST_TEST(request_fault(RequestKind::scan, values) == only + "FilterExpression is null");
    BOOST_TEST(request_fault(RequestKind::query, values) ==
               only + "FilterExpression and KeyConditionExpression are null");
    ExpressionParameters names;
    names.placeholders = placeholders({{"#n", "n"}}, {});
    BOOST_TEST(request_fault(RequestKind::get, names) ==
               "ExpressionAttributeNames can only be specified when using expressions");
}

BOOST_AUTO_TEST_CASE(has_no_empty_placeholders) {
    const auto fault = [](const Placeholders& given) {
        ExpressionParameters parameters;
        parameters.condition = "a = b";
        parameters.placeholders = given;
        return request_fault(RequestKind::put, parameters);
    };
    Placeholders none;
    none.names.emplace();
    none.values.emplace();
    BOOST_TEST(fault(none) == "ExpressionAttributeNames must not be empty");
    none.names.reset();
    BOOST_TEST(fault(none) == "ExpressionAttributeValues must not be empty");
    BOOST_TEST(fault(placeholders({{"#n", "n"}, {"#", "n"}}, {})) ==
               R"(ExpressionAttributeNames contains invalid key: Syntax error; key: "#")");
    BOOST_TEST(fault(placeholders({}, {{":v-1", number(1)}})) ==
               R"(ExpressionAttributeValues contains invalid key: Syntax error; key: ":v-1")");
    BOOST_TEST(fault(placeholders({{"#n", ""}}, {})) ==
               "ExpressionAttributeNames contains invalid value: Empty attribute name for key #n");
    AttributeValue deep = number(1);
    for (int i = 0; i < 32; ++i) deep = list({deep});
    BOOST_TEST(fault(placeholders({}, {{":v", deep}})) ==
               "ExpressionAttributeValues contains invalid value: Nesting Levels have exceeded "
               "supported limits: Attributes in the item have nested levels beyond supported limit "
               "for key :v");
}

BOOST_AUTO_TEST_CASE(names_attributes_in_65535_bytes_at_most) {
    const std::string name(65'535, 'n');
    const std::string rule =
        "failed to satisfy constraint: Map value must satisfy constraint: [Member must have length "
        "less than or equal to 65535, Member must have length greater than or equal to 0]";
    BOOST_TEST(condition_fault("attribute_exists(#n)", {}, {{"#n", name}}) == "");
    const auto fault = condition_fault("attribute_exists(#n)", {}, {{"#n", name + "n"}});
    BOOST_TEST(fault ==
               "1 validation error detected: Value '{#n=nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn...}' at "
               "'expressionAttributeNames' " +
                   rule);
}

BOOST_AUTO_TEST_CASE(takes_placeholders_of_two_megabytes_together) {
    constexpr std::size_t most = 2U << 20;
    const auto fault = [](std::size_t name_bytes, std::size_t value_bytes) {
        // The length of a placeholder counts, too. Each name has its own limit, so many names are
        // needed.
        NameList names;
        std::string text = "a = :v";
        for (std::size_t left = name_bytes; left > 0;) {
            const std::string placeholder = "#n" + std::to_string(100 + names.size());
            const std::size_t bytes = std::min<std::size_t>(left, 60'000);
            names.emplace_back(placeholder, std::string(bytes - placeholder.size(), 'n'));
            text += " OR attribute_exists(" + placeholder + ")";
            left -= bytes;
        }
        const std::string value(value_bytes - 2, 'v');
        return condition_fault(text, {{":v", value}}, names);
    };
    BOOST_TEST(fault(100, most - 100) == "");
    BOOST_TEST(
        fault(101, most - 100) ==
        "Combined size of ExpressionAttributeNames and ExpressionAttributeValues exceeds max "
        "size");
    BOOST_TEST(fault(100, most + 1) == "ExpressionAttributeValues exceeds max size");
    BOOST_TEST(fault(most + 1, 100) == "ExpressionAttributeNames exceeds max size");
}

BOOST_AUTO_TEST_CASE(finds_each_of_many_placeholders) {
    NameList names;
    ValueList values;
    std::string text = "a IN (";
    for (int i = 0; i < 100; ++i) {
        values.emplace_back(":v" + std::to_string(i), number(i));
        text += (i > 0 ? ", :v" : ":v") + std::to_string(i);
    }
    BOOST_TEST(holds_of(Item{{"a", number(57)}}, text + ")", values));
    values.emplace_back(":other", number(7));
    BOOST_TEST(condition_fault(text + ")", values) ==
               "Value provided in ExpressionAttributeValues unused in expressions: keys: {:other}");
    values.erase(values.begin() + 42);
    BOOST_TEST(condition_fault(text + ")", values) ==
               "Invalid ConditionExpression: An expression attribute value used in expression is "
               "not defined; attribute value: :v42");
}

BOOST_AUTO_TEST_CASE(is_checked_expression_by_expression) {
    ExpressionParameters change;
    change.update = "SET a = :u";
    change.condition = "a =";
    BOOST_TEST(request_fault(RequestKind::update, change) ==
               "Invalid UpdateExpression: An expression attribute value used in expression is not "
               "defined; attribute value: :u");
    ExpressionParameters query;
    query.key_condition = "pk <> :p";
    query.filter = "a = :f";
    query.projection = "status";
    query.placeholders = placeholders({}, {{":p", "p"}, {":f", number(1)}, {":no", number(1)}});
    BOOST_TEST(request_fault(RequestKind::query, query) ==
               "Invalid ProjectionExpression: Attribute name is a reserved keyword; reserved "
               "keyword: status");
    query.projection = "b";
    BOOST_TEST(request_fault(RequestKind::query, query) ==
               "Value provided in ExpressionAttributeValues unused in expressions: keys: {:no}");
    query.placeholders.values->pop_back();
    BOOST_TEST(request_fault(RequestKind::query, query) ==
               "Invalid operator used in KeyConditionExpression: <>");
}

// All expressions of a request share its placeholders.
BOOST_AUTO_TEST_CASE(shares_its_placeholders_among_its_expressions) {
    ExpressionParameters parameters;
    parameters.update = "SET #a = :v";
    parameters.condition = "#b = :w AND #a <> :v";
    parameters.placeholders =
        placeholders({{"#a", "a"}, {"#b", "b"}}, {{":v", number(1)}, {":w", number(2)}});
    const auto read = expression::read_expressions(RequestKind::update, parameters);
    const Item item{{"b", number(2)}};
    BOOST_TEST(holds(*read.value().condition, item));
    BOOST_TEST((apply(*read.value().update, item, true).value() ==
                Item{{"a", number(1)}, {"b", number(2)}}));
    const std::vector<std::string_view> looked_at{"a", "b"};
    BOOST_TEST(attributes(*read.value().condition) == looked_at, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(the_legacy_parameters)

BOOST_AUTO_TEST_CASE(are_conditions_on_whole_names) {
    const Item item{{"a.b", number(1)}, {"n", number(5)}};
    BOOST_TEST(expected_holds({"a.b", number("1.0"), {}, {}, {}}, item));
    BOOST_TEST(!expected_holds({"a", number(1), {}, {}, {}}, item));
    BOOST_TEST(expected_holds({"a", {}, false, {}, {}}, item));
}

// NOT_CONTAINS is not the negation of CONTAINS: both are false for an absent attribute.
BOOST_AUTO_TEST_CASE(are_false_for_an_absent_attribute) {
    const Item item{{"s", strings({"a"})}};
    const auto holds = [&](std::string attribute, ComparisonOperator comparison) {
        return expected_holds({std::move(attribute), AttributeValue("x"), {}, comparison, {}},
                              item);
    };
    BOOST_TEST(holds("s", ComparisonOperator::not_contains));
    BOOST_TEST(!holds("zz", ComparisonOperator::not_contains));
    BOOST_TEST(!holds("zz", ComparisonOperator::contains));
    BOOST_TEST(!holds("zz", ComparisonOperator::lt));
    BOOST_TEST(holds("zz", ComparisonOperator::ne));
}

BOOST_AUTO_TEST_CASE(are_joined_by_the_conditional_operator) {
    ExpressionParameters parameters;
    parameters.attribute_filter = {{compared("a", ComparisonOperator::eq, {number(1)}),
                                    compared("b", ComparisonOperator::eq, {number(2)})}};
    const Item item{{"a", number(1)}, {"b", number(1)}};
    const auto all = expression::read_expressions(RequestKind::scan, parameters);
    BOOST_TEST(!holds(*all.value().filter, item));
    parameters.conditional_operator = ConditionalOperator::any;
    const auto any = expression::read_expressions(RequestKind::scan, parameters);
    BOOST_TEST(holds(*any.value().filter, item));
}

BOOST_AUTO_TEST_CASE(append_to_lists_unlike_expressions) {
    ExpressionParameters parameters;
    parameters.attribute_updates = {{{"l", AttributeUpdate::Action::add, list({number(2)})},
                                     {"new", AttributeUpdate::Action::add, list({number(3)})},
                                     {"gone", AttributeUpdate::Action::remove, {}}}};
    const auto read = expression::read_expressions(RequestKind::update, parameters);
    const Item item{{"l", list({number(1)})}, {"gone", number(1)}};
    BOOST_TEST((apply(*read.value().update, item, true).value() ==
                Item{{"l", list({number(1), number(2)})}, {"new", list({number(3)})}}));
    const auto mismatch = apply(*read.value().update, Item{{"l", number(1)}}, true);
    BOOST_TEST(mismatch.error().message == "Type mismatch for attribute to update");
}

BOOST_AUTO_TEST_CASE(name_no_attribute_twice) {
    ExpressionParameters parameters;
    parameters.attributes_to_get = {{"b", "a.x", "b"}};
    BOOST_TEST(request_fault(RequestKind::get, parameters) ==
               "One or more parameter values were invalid: Duplicate value in attribute name: b");
    parameters.attributes_to_get->pop_back();
    const auto read = expression::read_expressions(RequestKind::get, parameters);
    const Item item{{"a", AttributeMap{{"x", number(1)}}}, {"a.x", number(2)}, {"b", number(3)}};
    BOOST_TEST(
        (project(*read.value().projection, item) == Item{{"a.x", number(2)}, {"b", number(3)}}));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(random_words)

// Each text is either a valid expression or returns an error, and gives the same result when it is
// parsed again.
BOOST_AUTO_TEST_CASE(are_read_without_harm) {
    std::mt19937 random(20261121);
    int accepted = 0;
    for (int i = 0; i < 30'000; ++i) {
        const std::string text = random_text(random);
        const std::string as_condition = asked_as_condition(text);
        const std::string as_update = asked_as_update(text);
        BOOST_TEST(as_condition == asked_as_condition(text));
        BOOST_TEST(as_update == asked_as_update(text));
        accepted += as_condition == "holds" || as_condition == "holds not" ? 1 : 0;
        accepted += as_update.empty() ? 1 : 0;
        accepted += projection_fault(text).empty() ? 1 : 0;
    }
    BOOST_TEST(accepted > 100);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::proof
