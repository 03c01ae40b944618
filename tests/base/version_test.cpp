#include <rocklock/version.hpp>

#include <algorithm>
#include <string_view>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(the_version)

BOOST_AUTO_TEST_CASE(has_three_parts) {
    const auto version = rocklock::version();
    BOOST_TEST(std::count(version.begin(), version.end(), '.') == 2);
}

BOOST_AUTO_TEST_CASE(is_digits_and_dots) {
    std::string_view version = rocklock::version();
#ifdef ROCKLOCK_MUTANTS
    constexpr std::string_view warning = " (mutants)";
    BOOST_TEST_REQUIRE(version.ends_with(warning));
    version.remove_suffix(warning.size());
#endif
    BOOST_TEST(version.find_first_not_of("0123456789.") == std::string_view::npos);
}

BOOST_AUTO_TEST_SUITE_END()
