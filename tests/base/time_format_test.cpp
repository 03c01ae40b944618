#include "base/time_format.hpp"

#include <chrono>

#include <boost/test/unit_test.hpp>

using namespace std::chrono_literals;
using rocklock::format_time;
using rocklock::parse_time;
using rocklock::WallTime;

BOOST_AUTO_TEST_SUITE(a_time)

BOOST_AUTO_TEST_CASE(is_written_in_utc_with_milliseconds) {
    BOOST_TEST(format_time(WallTime{}) == "1970-01-01T00:00:00.000Z");
    BOOST_TEST(format_time(WallTime{1'795'253'400'125ms}) == "2026-11-21T09:30:00.125Z");
    BOOST_TEST(format_time(WallTime{-1ms}) == "1969-12-31T23:59:59.999Z");
}

BOOST_AUTO_TEST_CASE(is_clamped_to_the_range_of_the_format) {
    BOOST_TEST(format_time(WallTime::max()) == "9999-12-31T23:59:59.999Z");
    BOOST_TEST(format_time(WallTime::min()) == "0000-01-01T00:00:00.000Z");
}

BOOST_AUTO_TEST_CASE(is_formatted_and_parsed_to_the_same_time) {
    for (const auto moment : {0ms, 951'782'400'001ms, 4'102'444'799'999ms, -86'400'000ms}) {
        BOOST_TEST((parse_time(format_time(WallTime{moment})) == WallTime{moment}));
    }
}

BOOST_AUTO_TEST_CASE(may_have_any_number_of_digits_of_a_second) {
    BOOST_TEST((parse_time("1970-01-01T00:00:01Z") == WallTime{1000ms}));
    BOOST_TEST((parse_time("1970-01-01T00:00:01.5Z") == WallTime{1500ms}));
    BOOST_TEST((parse_time("1970-01-01T00:00:01.123999Z") == WallTime{1123ms}));
}

BOOST_AUTO_TEST_CASE(is_rejected_if_malformed) {
    for (const char* text : {"", "1970-01-01", "1970-01-01T00:00:00", "1970-01-01T00:00:00+01:00",
                             "1970-02-30T00:00:00Z", "1970-01-01T24:00:00Z", "1970-01-01T00:60:00Z",
                             "1970-01-01T00:00:00.Z", "1970-1-01T00:00:00Z",
                             "1970-01-01T00:00:00Zx", "19a0-01-01T00:00:00Z"}) {
        BOOST_TEST(!parse_time(text).has_value(), text);
    }
}

BOOST_AUTO_TEST_SUITE_END()
