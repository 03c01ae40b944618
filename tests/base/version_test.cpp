#include <rocklock/version.hpp>

#include <algorithm>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(the_version)

BOOST_AUTO_TEST_CASE(has_three_parts) {
    const auto version = rocklock::version();
    BOOST_TEST(std::count(version.begin(), version.end(), '.') == 2);
}

BOOST_AUTO_TEST_CASE(is_digits_and_dots) {
    BOOST_TEST(rocklock::version().find_first_not_of("0123456789.") == std::string_view::npos);
}

BOOST_AUTO_TEST_SUITE_END()
