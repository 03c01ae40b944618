#include <string>
#include <string_view>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "expression/ask.hpp"

namespace rocklock::proof {

namespace {

constexpr std::string_view invalid_update = "Invalid UpdateExpression: ";

Item with_list(AttributeList elements) { return Item{{"l", list(std::move(elements))}}; }

Item after(const Item& item, std::string_view text, const ValueList& values = {}) {
    return updated(item, text, values).value();
}

std::string error(const Item& item, std::string_view text, const ValueList& values = {}) {
    const auto result = updated(item, text, values);
    return result ? "" : result.error().message;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(an_update)

BOOST_AUTO_TEST_CASE(reads_the_item_as_it_was) {
    const Item item{{"a", number(1)}, {"b", number(2)}};
    BOOST_TEST((after(item, "SET a = b, b = a") == Item{{"a", number(2)}, {"b", number(1)}}));
    BOOST_TEST((after(item, "SET c = a REMOVE a ADD b :v", {{":v", number(5)}}) ==
                Item{{"b", number(7)}, {"c", number(1)}}));
}

BOOST_AUTO_TEST_CASE(appends_elements_beyond_the_end_in_the_order_of_indexes) {
    const Item item = with_list({"x", "y"});
    const ValueList values{{":nine", "nine"}, {":five", "five"}, {":two", "two"}};
    BOOST_TEST((after(item, "SET l[9] = :nine, l[2] = :two, l[5] = :five", values) ==
                with_list({"x", "y", "two", "five", "nine"})));
}

// Indexes refer to the item before the update, so an appended element cannot be removed.
BOOST_AUTO_TEST_CASE(removes_elements_by_their_original_indexes) {
    const Item item = with_list({"x", "y", "z"});
    BOOST_TEST((after(item, "SET l[7] = :v REMOVE l[3], l[0]", {{":v", "v"}}) ==
                with_list({"y", "z", "v"})));
    BOOST_TEST((after(item, "REMOVE l[2], l[0], l[1]") == with_list({})));
    BOOST_TEST(
        error(item, "SET l[5] = :m, l[3].x = :v", {{":m", AttributeMap{}}, {":v", number(1)}}) ==
        "The document path provided in the update expression is invalid for update");
}

BOOST_AUTO_TEST_CASE(changes_nested_attributes_and_keeps_the_rest) {
    const Item item{{"m", AttributeMap{{"l", list({AttributeMap{{"x", number(1)}}, "keep"})},
                                       {"keep", number(1)}}}};
    const Item wanted{{"m", AttributeMap{{"l", list({AttributeMap{{"y", number(2)}}, "keep"})},
                                         {"keep", number(1)}}}};
    BOOST_TEST((after(item, "SET m.l[0].y = :v REMOVE m.l[0].x", {{":v", number(2)}}) == wanted));
}

BOOST_AUTO_TEST_CASE(removes_an_emptied_set_at_any_depth) {
    const Item item{{"s", strings({"a"})}, {"l", list({"x", strings({"a"}), "y"})}};
    BOOST_TEST((after(item, "DELETE s :v, l[1] :v", {{":v", strings({"a", "b"})}}) ==
                with_list({"x", "y"})));
}

BOOST_AUTO_TEST_CASE(evaluates_the_second_operand_of_if_not_exists_only_if_needed) {
    const Item item{{"a", number(1)}};
    BOOST_TEST((after(item, "SET a = if_not_exists(a, zz)") == item));
    BOOST_TEST(error(item, "SET a = if_not_exists(b, zz)") ==
               "The provided expression refers to an attribute that does not exist in the item");
    BOOST_TEST((after(item, "SET c = if_not_exists(c, :z) + a", {{":z", number(0)}}) ==
                Item{{"a", number(1)}, {"c", number(1)}}));
}

BOOST_AUTO_TEST_CASE(evaluates_parentheses_first) {
    const ValueList values{{":a", number(10)}, {":b", number(3)}, {":c", number(2)}};
    BOOST_TEST((after({}, "SET x = :a - (:b - :c)", values) == Item{{"x", number(9)}}));
    BOOST_TEST((after({}, "SET x = (:a - :b) - :c", values) == Item{{"x", number(5)}}));
}

BOOST_AUTO_TEST_CASE(nests_if_not_exists_and_no_other_function) {
    const ValueList lists{{":a", list({"a"})}, {":b", list({"b"})}};
    const std::string misused = std::string(invalid_update) +
                                "The function is not allowed to be used this way in an "
                                "expression; function: list_append";
    for (const auto* text :
         {"SET q = list_append(list_append(:a, :b), :b)",
          "SET q = list_append(:a, list_append(q, :b))",
          "SET q = if_not_exists(q, list_append(:a, :b))", "SET q = list_append(:a, :b) + :a"}) {
        BOOST_TEST(update_fault(text, lists) == misused, text);
    }
    BOOST_TEST((after({}, "SET q = list_append(if_not_exists(q, if_not_exists(r, :a)), (:b))",
                      lists) == Item{{"q", list({"a", "b"})}}));
}

BOOST_AUTO_TEST_CASE(does_not_calculate_within_a_function) {
    const ValueList values{{":a", number(1)}, {":b", number(2)}};
    BOOST_TEST(update_fault("SET q = if_not_exists(q, :a + :b)", values) ==
               std::string(invalid_update) + R"(Syntax error; token: "+", near: ":a + :b")");
    BOOST_TEST(update_fault("SET q = if_not_exists(q, (:a - :b))", values) ==
               std::string(invalid_update) + R"(Syntax error; token: "-", near: ":a - :b")");
    BOOST_TEST((after({}, "SET q = if_not_exists(q, :a) + if_not_exists(r, :b)", values) ==
                Item{{"q", number(3)}}));
}

BOOST_AUTO_TEST_CASE(that_only_removes_creates_no_item) {
    const auto takes = [](std::string_view text, const ValueList& values = {}) {
        ExpressionParameters parameters;
        parameters.update = text;
        parameters.placeholders = placeholders({}, values);
        const auto read = read_expressions(expression::RequestKind::update, parameters);
        return only_takes_away(*read.value().update);
    };
    BOOST_TEST(takes("REMOVE a, b.c DELETE d :v", {{":v", strings({"a"})}}));
    BOOST_TEST(!takes("REMOVE a SET b = :v", {{":v", number(1)}}));
    BOOST_TEST(!takes("ADD a :v", {{":v", number(1)}}));
    BOOST_TEST(
        (updated({}, "REMOVE a.b, c[0] DELETE d.e :v", {{":v", strings({"a"})}}, false).value() ==
         Item{}));
}

BOOST_AUTO_TEST_CASE(shows_the_paths_it_names_and_no_more) {
    const Item item{{"m", AttributeMap{{"x", number(1)}, {"y", number(2)}}},
                    {"l", list({"a", "b"})},
                    {"n", number(3)}};
    const ValueList value{{":v", number(9)}};
    BOOST_TEST((touched(item, "SET m.x = :v, l[1] = :v REMOVE zz ADD l[7] :v", value) ==
                Item{{"m", AttributeMap{{"x", number(1)}}}, {"l", list({"b"})}}));
}

BOOST_AUTO_TEST_CASE(may_not_change_the_key) {
    ExpressionParameters parameters;
    parameters.update = "SET a = b REMOVE #k.x";
    parameters.placeholders = placeholders({{"#k", "key"}}, {});
    const auto read = read_expressions(expression::RequestKind::update, parameters);
    const std::vector<std::string_view> other{"b"};
    const std::vector<std::string_view> key{"range", "key"};
    BOOST_TEST(!check_keys(*read.value().update, other).has_value());
    BOOST_TEST(check_keys(*read.value().update, key).value().message ==
               "One or more parameter values were invalid: Cannot update attribute key. This "
               "attribute is part of the key");
}

BOOST_AUTO_TEST_CASE(reports_the_top_level_attributes_that_it_changes) {
    ExpressionParameters parameters;
    parameters.update = "SET g = :v, r[0] = if_not_exists(#s.x, t)";
    parameters.placeholders = placeholders({{"#s", "s.t"}}, {{":v", number(1)}});
    const auto read = read_expressions(expression::RequestKind::update, parameters);
    const std::vector<std::string_view> nested{"s.t", "r"};
    BOOST_TEST((nested_attributes(*read.value().update) == nested));
}

BOOST_AUTO_TEST_CASE(fails_for_an_invalid_number) {
    const Item item{{"big", number("9e125")}};
    BOOST_TEST(error(item, "ADD big :v", {{":v", number("9e125")}}) ==
               "Number overflow. Attempting to store a number with magnitude larger than supported "
               "range");
    BOOST_TEST(
        !error(item, "SET a = :v + :w", {{":v", number("1e50")}, {":w", number(1)}}).empty());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(several_faults_of_an_update)

BOOST_AUTO_TEST_CASE(the_first_one_is_reported) {
    const std::vector<std::pair<std::string, std::string>> cases{
        {"SET status = foo(:undefined), SET b = c",
         R"(Syntax error; token: "SET", near: ", SET b")"},
        {"SET status = foo(:u) SET a = #u",
         "Attribute name is a reserved keyword; reserved keyword: status"},
        {"SET b = foo(:u) SET a = #u", "Invalid function name; function: foo"},
        {"SET a = :u SET a = #u",
         R"(The "SET" section can only be used once in an update expression;)"},
        {"SET a = :u, a = #u",
         "An expression attribute name used in the document path is not defined; attribute name: "
         "#u"},
        {"SET a = :u, a = b",
         "An expression attribute value used in expression is not defined; attribute value: :u"},
        {"SET a.b = list_append(c), a[0] = d, a.b.c = d",
         "Two document paths overlap with each other; must remove or rewrite one of these paths; "
         "path one: [a, b], path two: [a, b, c]"},
        {"SET a.b = list_append(c), a[0] = d",
         "Two document paths conflict with each other; must remove or rewrite one of these paths; "
         "path one: [a, b], path two: [a, [0]]"},
        {"SET a = list_append(c) ADD b :s",
         "Incorrect operand type for operator or function; operator: ADD, operand type: STRING, "
         "typeSet: ALLOWED_FOR_ADD_OPERAND"},
        {"SET a = list_append(c), b = :s",
         "Incorrect number of operands for operator or function; operator or function: "
         "list_append, number of operands: 1"},
    };
    for (const auto& [text, fault] : cases) {
        BOOST_TEST(update_fault(text, {{":s", "text"}}) == std::string(invalid_update) + fault);
    }
}

// If two paths overlap, the message names first the one that is earlier in the text, for any number
// of paths.
BOOST_AUTO_TEST_CASE(paths_that_overlap_are_found_among_many) {
    std::string text = "REMOVE z[3].y";
    for (int i = 0; i < 300; ++i) text += ",a" + std::to_string(i);
    BOOST_TEST(update_fault(text).empty());
    BOOST_TEST(update_fault(text + ",z") ==
               std::string(invalid_update) +
                   "Two document paths overlap with each other; must remove or rewrite one of "
                   "these paths; path one: [z, [3], y], path two: [z]");
    BOOST_TEST(update_fault(text + ",z.x") ==
               std::string(invalid_update) +
                   "Two document paths conflict with each other; must remove or rewrite one of "
                   "these paths; path one: [z, [3], y], path two: [z, x]");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_projection)

BOOST_AUTO_TEST_CASE(keeps_the_nesting_and_closes_the_gaps_of_lists) {
    const Item item{
        {"l", list({"zero", list({"a", "b"}), AttributeMap{{"x", number(1)}, {"y", number(2)}}})},
        {"n", number(1)}};
    BOOST_TEST((projected(item, "l[2].y, l[0], l[2].x, l[1][1]") ==
                Item{{"l", list({"zero", list({"b"}),
                                 AttributeMap{{"x", number(1)}, {"y", number(2)}}})}}));
    BOOST_TEST((projected(item, "l[7], l[2].x.y, n.x, #z", {{"#z", "zz"}}) == Item{}));
}

BOOST_AUTO_TEST_CASE(refuses_paths_that_meet) {
    BOOST_TEST(projection_fault("a.b, #x.b.c", {{"#x", "a"}}) ==
               "Invalid ProjectionExpression: Two document paths overlap with each other; must "
               "remove or rewrite one of these paths; path one: [a, b], path two: [a, b, c]");
    BOOST_TEST(projection_fault("a, name, a") ==
               "Invalid ProjectionExpression: Attribute name is a reserved keyword; reserved "
               "keyword: name");
    BOOST_TEST(projection_fault("a, #x, a") ==
               "Invalid ProjectionExpression: An expression attribute name used in the document "
               "path is not defined; attribute name: #x");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::proof
