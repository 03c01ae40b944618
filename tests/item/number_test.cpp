#include <rocklock/items/number.hpp>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <unordered_set>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace rocklock {
BOOST_AUTO_TEST_SUITE(a_number)

namespace {

constexpr auto overflow_text =
    "Number overflow. Attempting to store a number with magnitude larger than supported range";
constexpr auto underflow_text =
    "Number underflow. Attempting to store a number with magnitude smaller than supported range";
constexpr auto precision_text = "Attempting to store more than 38 significant digits in a Number";

Number number(std::string_view text) {
    auto parsed = Number::parse(text);
    if (!parsed) BOOST_FAIL(text << ": " << parsed.error().message);
    return *parsed;
}

// Returns the text of the number, or the error message.
std::string answer(const Result<Number>& result) {
    if (result) return result->to_string();
    BOOST_TEST((result.error().code == ErrorCode::invalid_argument));
    return result.error().message;
}

std::string normalised(std::string_view text) { return answer(Number::parse(text)); }

// Returns the word that numbers.txt uses if `text` is one of the error messages, otherwise `text`.
std::string in_short(const std::string& text) {
    if (text == overflow_text) return "overflow";
    if (text == underflow_text) return "underflow";
    return text == precision_text ? "precision" : text;
}

std::string asked(const std::string& question, const std::string& left, const std::string& right) {
    if (question == "text") return in_short(normalised(left));
    if (question == "size") return std::to_string(number(left).size_bytes());
    if (question == "add") return in_short(answer(add(number(left), number(right))));
    if (question == "subtract") return in_short(answer(subtract(number(left), number(right))));
    BOOST_REQUIRE(question == "compare");
    const auto order = number(left) <=> number(right);
    BOOST_TEST((number(right) <=> number(left) == 0 <=> order));
    BOOST_TEST((number(left) == number(right)) == (order == 0));
    return order < 0 ? "<" : order > 0 ? ">" : "=";
}

// Returns numbers with every exponent from -130 to 88, with few and with many digits, and both
// signs.
std::vector<Number> samples() {
    std::vector<Number> numbers{Number()};
    for (int exponent = -130; exponent <= 88; ++exponent) {
        for (const std::string digits : {"1", "9", "15", "99999999999999999999999999999999999999",
                                         "10000000000000000000000000000000000001",
                                         "18446744073709551615", "18446744073709551617"}) {
            for (const char* sign : {"", "-"}) {
                numbers.push_back(number(sign + digits + "e" + std::to_string(exponent)));
            }
        }
    }
    return numbers;
}

}  // namespace

BOOST_AUTO_TEST_CASE(agrees_with_an_independent_implementation) {
    std::ifstream file(std::string(std::getenv("ROCKLOCK_SOURCE_ROOT")) +
                       "/tests/item/numbers.txt");
    std::string line;
    std::size_t lines = 0;
    for (; std::getline(file, line); ++lines) {
        std::istringstream words(line);
        std::string question, left, right, arrow, expected;
        words >> question >> left >> right;
        if (right != "->") words >> arrow;
        words >> expected;
        BOOST_TEST(asked(question, left, right) == expected, line);
    }
    BOOST_TEST(lines > 2000);
}

BOOST_AUTO_TEST_CASE(is_written_like_the_service_writes_it) {
    BOOST_TEST(normalised("-0") == "0");
    BOOST_TEST(normalised("0.0") == "0");
    BOOST_TEST(normalised("+5") == "5");
    BOOST_TEST(normalised("5.") == "5");
    BOOST_TEST(normalised("-.25") == "-0.25");
    BOOST_TEST(normalised("-00.5") == "-0.5");
    BOOST_TEST(normalised("1.10") == "1.1");
    BOOST_TEST(normalised("1E+3") == "1000");
    BOOST_TEST(normalised("12e-1") == "1.2");
    BOOST_TEST(normalised("-1.5e-7") == "-0.00000015");
    BOOST_TEST(normalised("1E+125") == "1" + std::string(125, '0'));
    BOOST_TEST(normalised("1e-130") == "0." + std::string(129, '0') + "1");
    BOOST_TEST(normalised("123456789012345678901234567890.12345678") ==
               "123456789012345678901234567890.12345678");
    // The lower half of the coefficient begins with zeros.
    BOOST_TEST(normalised("10000000000000000000000000000000000001") ==
               "10000000000000000000000000000000000001");
    BOOST_TEST(Number().to_string() == "0");
}

BOOST_AUTO_TEST_CASE(is_refused_if_it_is_malformed) {
    for (const std::string text :
         {" ",   "abc",  "NaN", "Infinity", "-Infinity", "0x10",  "1_0", "1,000", " 5",
          "5 ",  "--5",  "1e",  "e5",       ".",         "+",     "-",   "1.2.3", "1e5.0",
          "1e+", "5e 1", "+-5", "1-",       "\xD9\xA1",  "1e1e1", "-."}) {
        BOOST_TEST(normalised(text) ==
                   "The parameter cannot be converted to a numeric value: " + text);
    }
    BOOST_TEST(normalised("") == "The parameter cannot be converted to a numeric value");
    BOOST_TEST(normalised(std::string_view("1\0", 2)) ==
               std::string("The parameter cannot be converted to a numeric value: 1\0", 56));
}

BOOST_AUTO_TEST_CASE(has_at_most_38_digits_that_count) {
    const std::string digits(38, '7');
    BOOST_TEST(normalised(digits) == digits);
    BOOST_TEST(normalised(digits + "7") == precision_text);
    BOOST_TEST(normalised("0." + digits + "7") == precision_text);
    // Zeros at either end are not significant; zeros between other digits are.
    BOOST_TEST(normalised("000" + digits + "00000") == digits + "00000");
    BOOST_TEST(normalised("1" + std::string(42, '0')) == "1" + std::string(42, '0'));
    BOOST_TEST(normalised("1" + std::string(36, '0') + "1") == "1" + std::string(36, '0') + "1");
    BOOST_TEST(normalised("1" + std::string(37, '0') + "1") == precision_text);
    BOOST_TEST(normalised("1." + std::string(1000, '0')) == "1");
    BOOST_TEST(normalised("1." + std::string(1000, '0') + "1") == precision_text);
}

BOOST_AUTO_TEST_CASE(has_a_magnitude_within_its_range) {
    BOOST_TEST(normalised("9.9999999999999999999999999999999999999E+125") ==
               std::string(38, '9') + std::string(88, '0'));
    BOOST_TEST(normalised("1e126") == overflow_text);
    BOOST_TEST(normalised("-1e126") == overflow_text);
    BOOST_TEST(normalised("1e-131") == underflow_text);
    BOOST_TEST(normalised("-9.9e-131") == underflow_text);
    // The value decides, not the exponent.
    BOOST_TEST(normalised("0.1e126") == normalised("1e125"));
    BOOST_TEST(normalised("10e-131") == normalised("1e-130"));
    BOOST_TEST(normalised(std::string(200, '0') + "." + std::string(999, '0') + "1e1000") == "1");
    BOOST_TEST(normalised("1" + std::string(1000, '0') + "e-1000") == "1");
    // An exponent that is too large for an integer does not wrap around.
    for (const std::string exponent :
         {"1000000", "2147483648", "4294967296", "9223372036854775807", "18446744073709551616",
          "99999999999999999999999999999999999999999999"}) {
        BOOST_TEST(normalised("1e" + exponent) == overflow_text);
        BOOST_TEST(normalised("-1e+" + exponent) == overflow_text);
        BOOST_TEST(normalised("1e-" + exponent) == underflow_text);
    }
}

BOOST_AUTO_TEST_CASE(that_is_zero_is_held_to_the_range_of_its_exponent) {
    BOOST_TEST(normalised("0e5") == "0");
    BOOST_TEST(normalised("0e125") == "0");
    BOOST_TEST(normalised("0.00e-130") == "0");
    BOOST_TEST(normalised("0e126") == overflow_text);
    BOOST_TEST(normalised("0e-131") == underflow_text);
}

BOOST_AUTO_TEST_CASE(adds_and_subtracts_exactly) {
    BOOST_TEST(answer(add(number("0.1"), number("0.2"))) == "0.3");
    BOOST_TEST(answer(add(number("99999999999999999999999999999999999999"), number("1"))) ==
               "1" + std::string(38, '0'));
    BOOST_TEST(answer(subtract(number("1e125"), number("1e125"))) == "0");
    BOOST_TEST(answer(subtract(number("5"), number("7.5"))) == "-2.5");
    BOOST_TEST(answer(subtract(number("0"), number("3"))) == "-3");
    BOOST_TEST(answer(add(number("3"), number("0"))) == "3");
    // The result has 38 nines, although the larger operand needs 39 digits during the subtraction.
    BOOST_TEST(answer(subtract(number("1e38"), number("1"))) == std::string(38, '9'));
    BOOST_TEST(answer(subtract(number("1e39"), number("1"))) == overflow_text);
}

// DynamoDB does not round. A result with more than 38 digits is reported as an overflow.
BOOST_AUTO_TEST_CASE(is_not_rounded_by_arithmetic) {
    BOOST_TEST(answer(add(number("1e38"), number("1"))) == overflow_text);
    BOOST_TEST(answer(add(number("1e125"), number("1e-130"))) == overflow_text);
    BOOST_TEST(answer(add(number("9e125"), number("9e125"))) == overflow_text);
    BOOST_TEST(answer(subtract(number("-9e125"), number("9e125"))) == overflow_text);
    BOOST_TEST(answer(subtract(number("1.5e-130"), number("1e-130"))) == underflow_text);
}

BOOST_AUTO_TEST_CASE(is_equal_to_the_value_of_its_text) {
    for (const auto& sample : samples()) {
        const auto text = sample.to_string();
        BOOST_TEST(text.size() <= Number::max_text_size);
        BOOST_TEST((number(text) == sample), text);
        BOOST_TEST((number(text).hash() == sample.hash()), text);
        BOOST_TEST((Number::from_parts(sample.parts()) == sample), text);
        BOOST_TEST((-(-sample) == sample), text);
        BOOST_TEST(answer(add(sample, -sample)) == "0");
    }
    BOOST_TEST(number("1.0").hash() == number("10e-1").hash());
}

BOOST_AUTO_TEST_CASE(has_few_hash_collisions) {
    std::unordered_set<std::size_t> hashes;
    const auto numbers = samples();
    for (const auto& sample : numbers) hashes.insert(sample.hash());
    for (int i = 1; i <= 10'000; ++i) hashes.insert(Number(i * 10 + 1).hash());
    BOOST_TEST(hashes.size() > numbers.size() + 9'000);
}

BOOST_AUTO_TEST_CASE(is_converted_from_and_to_an_integer) {
    constexpr auto smallest = std::numeric_limits<std::int64_t>::min();
    constexpr auto largest = std::numeric_limits<std::int64_t>::max();
    for (const std::int64_t value : {std::int64_t{0}, std::int64_t{7}, std::int64_t{-1'500},
                                     std::int64_t{1'000'000}, smallest, largest}) {
        BOOST_TEST(Number(value).to_string() == std::to_string(value));
        BOOST_TEST((Number(value) == number(std::to_string(value))));
        BOOST_TEST((Number(value).to_int64() == value));
    }
    BOOST_TEST(Number(std::numeric_limits<std::uint64_t>::max()).to_string() ==
               "18446744073709551615");
    BOOST_TEST((number("9223372036854775808").to_int64() == std::nullopt));
    BOOST_TEST((number("-9223372036854775809").to_int64() == std::nullopt));
    BOOST_TEST((number("1e19").to_int64() == std::nullopt));
    BOOST_TEST((number("1e125").to_int64() == std::nullopt));
    BOOST_TEST((number("0.5").to_int64() == std::nullopt));
}

BOOST_AUTO_TEST_CASE(is_not_made_of_invalid_parts) {
    const auto is_none = [](const Number::Parts& parts) { return !Number::from_parts(parts); };
    BOOST_TEST(is_none({.low = 10}));
    BOOST_TEST(is_none({.negative = true}));
    BOOST_TEST(is_none({.exponent = 3}));
    BOOST_TEST(is_none({.low = 1, .exponent = 126}));
    BOOST_TEST(is_none({.low = 1, .exponent = -131}));
    BOOST_TEST(is_none({.high = ~std::uint64_t{0}, .low = 1}));
    BOOST_TEST(!is_none({.low = 1, .exponent = -130}));
}

// DynamoDB counts about one byte for two significant digits. The examples are from its
// documentation.
BOOST_AUTO_TEST_CASE(counts_a_byte_for_two_digits) {
    const auto size = [](const char* text) { return number(text).size_bytes(); };
    BOOST_TEST(size("0") == 1);
    BOOST_TEST(size("1") == 2);
    BOOST_TEST(size("12") == 2);
    BOOST_TEST(size("123") == 3);
    BOOST_TEST(size("1.5") == 3);
    BOOST_TEST(size("0.001") == 2);
    BOOST_TEST(size("1000") == 2);
    BOOST_TEST(size("1e100") == 2);
    BOOST_TEST(size("-12") == 3);
    BOOST_TEST(size("99999999999999999999999999999999999999") == 20);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace rocklock
