#include "base/duration_text.hpp"

#include <string>

#include <boost/test/unit_test.hpp>

using namespace std::chrono_literals;
using rocklock::exact_duration;
using rocklock::format_duration;
using rocklock::parse_duration;

BOOST_AUTO_TEST_SUITE(a_duration)

BOOST_AUTO_TEST_CASE(is_read_with_its_units) {
    BOOST_TEST((parse_duration("0") == 0ms));
    BOOST_TEST((parse_duration("250ms") == 250ms));
    BOOST_TEST((parse_duration("10s") == 10s));
    BOOST_TEST((parse_duration("1m30s") == 90s));
    BOOST_TEST((parse_duration("2h") == 2h));
    BOOST_TEST((parse_duration("7d") == 168h));
}

// E7: a duration in a text needs a unit, too.
BOOST_AUTO_TEST_CASE(is_rejected_without_a_unit_or_if_malformed) {
    for (const char* text : {"", "10", "s", "-1s", "+1s", "1.5s", "1s ", " 1s", "1w", "1s2",
                             "99999999999999999999s", "9999999999999d"}) {
        BOOST_TEST(!parse_duration(text).has_value(), text);
    }
}

BOOST_AUTO_TEST_CASE(is_shown_in_two_units_at_most) {
    BOOST_TEST(format_duration(-5s) == "0.0s");
    BOOST_TEST(format_duration(340ms) == "0.3s");
    BOOST_TEST(format_duration(12'999ms) == "12s");
    BOOST_TEST(format_duration(185s) == "3m05s");
    BOOST_TEST(format_duration(2h + 10min) == "2h10m");
    BOOST_TEST(format_duration(99h) == "4d3h");
}

BOOST_AUTO_TEST_CASE(is_formatted_and_parsed_exactly) {
    for (const auto duration : {0ms, 1ms, 600'000ms, 90'061'001ms}) {
        BOOST_TEST((parse_duration(exact_duration(duration)) == duration));
    }
}

BOOST_AUTO_TEST_SUITE_END()
