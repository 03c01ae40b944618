#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "expression/ask.hpp"

namespace rocklock::proof {

namespace {

constexpr std::string_view invalid_condition = "Invalid ConditionExpression: ";

std::string repeated(std::string_view text, int count) {
    std::string result;
    for (int i = 0; i < count; ++i) result += text;
    return result;
}

// Returns "a IN (:v, ...)" with `count` operands.
std::string in_list(int count) {
    std::string text = "a IN (:v";
    for (int i = 1; i < count; ++i) text += ",:v";
    return text + ")";
}

Item example() {
    return Item{{"n", number(5)},
                {"s", "hello"},
                {"l", list({number(1), "two", AttributeMap{{"x", number(3)}}})},
                {"m", AttributeMap{{"x", number(1)}}},
                {"ss", strings({"a", "b"})},
                {"b", Binary{"\x01\x02"}},
                {"t", true},
                {"nothing", Null{}}};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(a_condition)

BOOST_AUTO_TEST_CASE(applies_the_precedence_of_operators) {
    const ValueList values{{":five", number(5)}, {":six", number(6)}};
    const Item item = example();
    BOOST_TEST(holds_of(item, "n = :five OR n = :six AND n = :six", values));
    BOOST_TEST(!holds_of(item, "(n = :five OR n = :six) AND n = :six", values));
    BOOST_TEST(!holds_of(item, "NOT n = :five AND n = :six", values));
    BOOST_TEST(holds_of(item, "NOT (n = :five AND n = :six)", values));
    BOOST_TEST(holds_of(item, "n BETWEEN :five AND :six AND NOT n = :six", values));
}

BOOST_AUTO_TEST_CASE(is_false_for_an_absent_attribute_except_for_unequal) {
    const ValueList values{{":v", number(1)}};
    for (const auto* text : {"zz = :v", "zz < :v", "zz >= :v", "zz BETWEEN :v AND :v", "zz IN (:v)",
                             "contains(zz, :v)", "size(zz) = :v", ":v = zz"}) {
        BOOST_TEST(!holds_of(example(), text, values), text);
        BOOST_TEST(holds_of(example(), std::string("NOT ") + text, values), text);
    }
    BOOST_TEST(holds_of(example(), "zz <> :v", values));
    BOOST_TEST(holds_of(example(), "zz <> yy"));
    BOOST_TEST(!holds_of(example(), "zz = yy"));
}

BOOST_AUTO_TEST_CASE(compares_numbers_by_value_and_types_not_at_all) {
    BOOST_TEST(holds_of(example(), "n = :v", {{":v", number("5.00")}}));
    BOOST_TEST(!holds_of(example(), "n = :v", {{":v", "5"}}));
    BOOST_TEST(holds_of(example(), "n <> :v", {{":v", "5"}}));
    BOOST_TEST(!holds_of(example(), "n < :v", {{":v", "6"}}));
    BOOST_TEST(holds_of(example(), "l[2] = :v", {{":v", AttributeMap{{"x", number("3.0")}}}}));
}

BOOST_AUTO_TEST_CASE(counts_characters_in_utf16_units) {
    const Item item{{"plain", "abc"}, {"accent", "é"}, {"emoji", "\U0001F600"}, {"euro", "€"}};
    BOOST_TEST(holds_of(item, "size(plain) = :v", {{":v", number(3)}}));
    BOOST_TEST(holds_of(item, "size(accent) = :v", {{":v", number(1)}}));
    BOOST_TEST(holds_of(item, "size(euro) = :v", {{":v", number(1)}}));
    BOOST_TEST(holds_of(item, "size(emoji) = :v", {{":v", number(2)}}));
}

BOOST_AUTO_TEST_CASE(takes_words_in_any_case_and_blanks_anywhere) {
    const ValueList values{{":v", number(5)}};
    BOOST_TEST(holds_of(example(), "\tn=:v\r\naNd nOt(s=:v)oR zz In(:v)", values));
    BOOST_TEST(holds_of(example(), "l [ 2 ] . x < :v", values));
}

BOOST_AUTO_TEST_CASE(treats_a_placeholder_as_one_name) {
    const Item item{{"a.b", AttributeMap{{"c[0]", number(5)}}}};
    BOOST_TEST(holds_of(item, "#a.#c = :v", {{":v", number(5)}}, {{"#a", "a.b"}, {"#c", "c[0]"}}));
}

BOOST_AUTO_TEST_CASE(reports_which_operand_is_invalid) {
    const ValueList value{{":v", number(1)}};
    const auto of = [&](std::string_view text) { return condition_fault(text, value); };
    const auto is = [](std::string_view text) {
        return std::string(invalid_condition) + std::string(text);
    };
    BOOST_TEST(of("contains(a)") ==
               is("Incorrect number of operands for operator or function; operator or function: "
                  "contains, number of operands: 1"));
    BOOST_TEST(of("attribute_type(:v, a)") ==
               is("Incorrect operand type for operator or function; operator or function: "
                  "attribute_type, operand type: {NS,SS,L,BS,N,M,B,BOOL,NULL,S}"));
    BOOST_TEST(of("attribute_exists(:v)") ==
               is("Operator or function requires a document path; operator or function: "
                  "attribute_exists"));
    BOOST_TEST(of("a = #n") ==
               is("An expression attribute name used in the document path is not defined; "
                  "attribute name: #n"));
    BOOST_TEST(of("a IN (:v, a)") ==
               is("The first operand must be distinct from the remaining operands for this "
                  "operator or function; operator: IN, first operand: [a]"));
    BOOST_TEST(of("begins_with(size(a), a)") ==
               is("Incorrect operand type for operator or function; operator or function: "
                  "begins_with, operand type: N"));
}

BOOST_AUTO_TEST_CASE(tests_the_type_of_a_value_too) {
    const ValueList values{{":v", number(1)}, {":n", "N"}};
    BOOST_TEST(holds_of(example(), "attribute_type(:v, :n)", values));
    BOOST_TEST(!holds_of(example(), "attribute_type(:n, :n)", {{":n", "N"}}));
    BOOST_TEST(holds_of(example(), "attribute_type(size(s), :n)", {{":n", "N"}}));
}

BOOST_AUTO_TEST_CASE(reports_reversed_bounds) {
    const ValueList values{{":a", Binary{"bb"}}, {":b", Binary{"a"}}};
    BOOST_TEST(condition_fault("x BETWEEN :a AND :b", values) ==
               std::string(invalid_condition) +
                   "The BETWEEN operator requires upper bound to be greater than or equal to lower "
                   "bound; lower bound operand: AttributeValue: {B:java.nio.HeapByteBuffer[pos=0 "
                   "lim=2 cap=2]}, upper bound operand: AttributeValue: "
                   "{B:java.nio.HeapByteBuffer[pos=0 lim=1 cap=1]}");
}

BOOST_AUTO_TEST_SUITE_END()

// Each text contains the error of its own line and the errors of all lines after it.
BOOST_AUTO_TEST_SUITE(several_faults_of_a_condition)

BOOST_AUTO_TEST_CASE(the_first_one_is_reported) {
    const std::vector<std::pair<std::string, std::string>> cases{
        {"((a = :b)) AND foo(size(status)) AND size(a) AND",
         R"(Syntax error; token: "<EOF>", near: "AND")"},
        {"((a = :b)) AND foo(status) AND size(a)", "The expression has redundant parentheses;"},
        {"size(status) AND foo(l[99999999999]) AND contains(a)",
         "Invalid function name; function: foo"},
        {"status = :b AND size(l[99999999999])",
         "The function is not allowed to be used this way in an expression; function: size"},
        {"status = l[99999999999]",
         "List index is not within the allowable range; index: [99999999999]"},
        {"contains(a) AND status = #undefined",
         "Attribute name is a reserved keyword; reserved keyword: status"},
        {"contains(:undefined) AND a = #undefined",
         "An expression attribute value used in expression is not defined; attribute value: "
         ":undefined"},
        {"contains(size(a, a))",
         "Incorrect number of operands for operator or function; operator or function: size, "
         "number of operands: 2"},
        {"begins_with(a, a) AND contains(a)",
         "The first operand must be distinct from the remaining operands for this operator or "
         "function; operator: begins_with, first operand: [a]"},
    };
    for (const auto& [text, fault] : cases) {
        BOOST_TEST(condition_fault(text) == std::string(invalid_condition) + fault);
    }
}

// All errors of a clause are reported before those of the next one.
BOOST_AUTO_TEST_CASE(those_of_an_earlier_clause_have_precedence) {
    BOOST_TEST(condition_fault("a = a AND b = :undefined") ==
               std::string(invalid_condition) +
                   "The first operand must be distinct from the remaining operands for this "
                   "operator or function; operator: =, first operand: [a]");
}

BOOST_AUTO_TEST_CASE(an_unused_placeholder_is_reported_last) {
    const ValueList values{{":used", number(1)}, {":one", number(1)}, {":two", number(2)}};
    BOOST_TEST(condition_fault("a = :used", values) ==
               "Value provided in ExpressionAttributeValues unused in expressions: keys: {:one, "
               ":two}");
    BOOST_TEST(condition_fault("a = :used", values, {{"#n", "n"}}) ==
               "Value provided in ExpressionAttributeNames unused in expressions: keys: {#n}");
    BOOST_TEST(condition_fault("a = :used AND contains(a)", values) ==
               std::string(invalid_condition) +
                   "Incorrect number of operands for operator or function; operator or function: "
                   "contains, number of operands: 1");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(the_limits_of_a_condition)

BOOST_AUTO_TEST_CASE(are_4096_bytes_as_they_are_sent) {
    const ValueList value{{":v", number(1)}};
    const std::string text = "a = :v";
    const auto padded = [&](std::size_t size) { return text + std::string(size - 6, ' '); };
    BOOST_TEST(condition_fault(padded(4096), value).empty());
    BOOST_TEST(condition_fault(padded(4097), value) ==
               std::string(invalid_condition) +
                   "Expression size has exceeded the maximum allowed size; expression size: 4097");
}

BOOST_AUTO_TEST_CASE(are_300_operators) {
    const ValueList value{{":v", number(1)}};
    const std::string most = "a = :v" + repeated(" OR a = :v", 149);
    BOOST_TEST(condition_fault("NOT " + most, value).empty());
    BOOST_TEST(condition_fault("NOT NOT " + most, value) ==
               std::string(invalid_condition) +
                   "The expression contains too many operators; operator count: 301");
    const std::string functions = "size(a) = :v" + repeated(" OR size(a) = :v", 99);
    BOOST_TEST(condition_fault("NOT " + functions, value).empty());
    BOOST_TEST(!condition_fault("NOT NOT " + functions, value).empty());
}

BOOST_AUTO_TEST_CASE(are_100_operands_of_in) {
    const ValueList value{{":v", number(1)}};
    BOOST_TEST(condition_fault(in_list(100), value).empty());
    BOOST_TEST(condition_fault(in_list(101), value) ==
               std::string(invalid_condition) +
                   "The IN operator is provided with too many operands; number of operands: 101");
}

BOOST_AUTO_TEST_CASE(are_32_steps_of_a_path) {
    BOOST_TEST(condition_fault("attribute_exists(a" + repeated(".b", 31) + ")").empty());
    BOOST_TEST(condition_fault("attribute_exists(a" + repeated("[0]", 32) + ")") ==
               std::string(invalid_condition) +
                   "The document path has too many nesting levels; nesting levels: 33");
}

BOOST_AUTO_TEST_CASE(are_indexes_of_31_bits) {
    BOOST_TEST(condition_fault("attribute_exists(a[2147483647])").empty());
    BOOST_TEST(condition_fault("attribute_exists(a[2147483648])") ==
               std::string(invalid_condition) +
                   "List index is not within the allowable range; index: [2147483648]");
}

// Texts of the maximum depth are accepted, and deeper ones are refused without a stack overflow.
BOOST_AUTO_TEST_CASE(hold_for_texts_of_any_depth) {
    const ValueList value{{":v", number(1)}};
    const std::string deep = repeated("NOT (", 299) + "a = :v" + repeated(")", 299);
    BOOST_TEST(condition_fault(deep, value).empty());
    BOOST_TEST(holds_of({}, deep, value));
    BOOST_TEST(condition_fault(repeated("(", 4096)) ==
               std::string(invalid_condition) + "The expression has redundant parentheses;");
    BOOST_TEST(!condition_fault(repeated("NOT ", 1024)).empty());
    BOOST_TEST(!condition_fault(repeated("size(", 819)).empty());
    BOOST_TEST(!condition_fault("a IN (" + repeated("(", 4000)).empty());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(an_invalid_condition)

BOOST_AUTO_TEST_CASE(is_reported_with_the_token_and_its_context) {
    const std::vector<std::pair<std::string, std::string>> cases{
        {"a", R"(token: "<EOF>", near: "a")"},
        {"a  ", R"(token: "<EOF>", near: "a")"},
        {"a  !=  :v", R"(token: "!", near: "a  !=")"},
        {"a = €", R"(token: "€", near: "= €")"},
        {"a = :", R"(token: ":", near: "= :")"},
        {"a = # b", R"(token: "#", near: "= # b")"},
        {"_a = :v", R"(token: "_", near: "_a")"},
        {"a = :v AND (b)", R"x(token: "<EOF>", near: ")")x"},
        {"(a AND b = :v)", R"(token: "AND", near: "a AND b")"},
        {"NOT (a)", R"x(token: "<EOF>", near: ")")x"},
        {"a[01] = :v", R"(token: "1", near: "01]")"},
        {"a BETWEEN :v OR :v", R"(token: "OR", near: ":v OR :v")"},
        {"set = :v", R"(token: "set", near: "set =")"},
        {"contains((a = :v), b)", R"(token: "=", near: "a = :v")"},
        {"(a = :v) = :v", R"(token: "=", near: ") = :v")"},
    };
    for (const auto& [text, fault] : cases) {
        BOOST_TEST(condition_fault(text, {{":v", number(1)}}) ==
                   std::string(invalid_condition) + "Syntax error; " + fault);
    }
    BOOST_TEST(condition_fault("") ==
               std::string(invalid_condition) + "The expression can not be empty;");
    BOOST_TEST(condition_fault(" \n") ==
               std::string(invalid_condition) + "The expression can not be empty;");
}

BOOST_AUTO_TEST_CASE(has_redundant_parentheses_only_right_around_another_pair) {
    const ValueList value{{":v", number(1)}};
    const std::string fault =
        std::string(invalid_condition) + "The expression has redundant parentheses;";
    for (const auto* text : {"((a = :v))", "((a)) = :v", "a = ((:v))", "contains(((a)), :v)",
                             "NOT ((a = :v))", "((attribute_exists(a)))", "((a = :v OR b = :v))"}) {
        BOOST_TEST(condition_fault(text, value) == fault, text);
    }
    for (const auto* text : {"((a) = :v)", "((a = :v) AND b = :v)", "contains((a), :v)",
                             "a IN ((:v))", "(size(a)) = :v", "(NOT (a = :v))"}) {
        BOOST_TEST(condition_fault(text, value).empty(), text);
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock::proof
