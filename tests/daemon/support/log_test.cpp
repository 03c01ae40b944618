// Log lines: values cannot forge a line, and programs can parse each line.
#include "daemon/support/log.hpp"

#include <boost/test/unit_test.hpp>

namespace {

using namespace rocklock;

BOOST_AUTO_TEST_SUITE(log)

BOOST_AUTO_TEST_CASE(a_line_for_people_has_its_message_first) {
    const LogEvent event{LogLevel::info, "listening", "listening on /run/x", {}};
    BOOST_TEST(format_event(event, LogFormat::text, "T") == "rocklock: listening on /run/x\n");
}

BOOST_AUTO_TEST_CASE(facts_are_quoted_if_necessary) {
    const LogEvent event{
        LogLevel::warning,
        "break",
        "a grant was broken",
        {{"a", "plain"}, {"b", ""}, {"c", "two words"}, {"d", "x\" level=info\ny\x1B[2J\\"}}};
    BOOST_TEST(format_event(event, LogFormat::logfmt, "T") ==
               "time=T level=warning event=break message=\"a grant was broken\" a=plain b=\"\" "
               "c=\"two words\" d=\"x\\\" level=info\\ny\\x1b[2J\\\\\"\n");
}

BOOST_AUTO_TEST_CASE(names_in_utf8_stay_and_its_control_characters_do_not) {
    const LogEvent event{LogLevel::info, "e", "m", {{"a", "J\xC3\xBCrgen \xC2\x9B[2J"}}};
    BOOST_TEST(format_event(event, LogFormat::text, "T") ==
               "rocklock: m a=\"J\xC3\xBCrgen \\xc2\\x9b[2J\"\n");
}

BOOST_AUTO_TEST_CASE(json_has_all_facts_as_members) {
    const LogEvent event{LogLevel::error, "e", "m", {{"a", "\"}\n"}}};
    BOOST_TEST(format_event(event, LogFormat::json, "T") ==
               R"({"time":"T","level":"error","event":"e","message":"m","a":"\"}\n"})"
               "\n");
}

BOOST_AUTO_TEST_CASE(numbers_are_numbers_in_json) {
    const LogEvent event{LogLevel::info, "e", "m", {{"grant", 3'764'934'915'653'632}, {"n", "7"}}};
    BOOST_TEST(format_event(event, LogFormat::json, "T") ==
               R"({"time":"T","level":"info","event":"e","message":"m",)"
               R"("grant":3764934915653632,"n":"7"})"
               "\n");
    BOOST_TEST(format_event(event, LogFormat::text, "T") ==
               "rocklock: m grant=3764934915653632 n=7\n");
}

BOOST_AUTO_TEST_CASE(frequent_events_are_limited_and_counted) {
    using std::chrono::milliseconds;
    RateLimiter limiter(milliseconds{100});
    const std::chrono::steady_clock::time_point start{milliseconds{5'000}};
    BOOST_TEST(limiter.let_through(start) == 1U);
    BOOST_TEST(limiter.let_through(start) == 0U);
    BOOST_TEST(limiter.let_through(start + milliseconds{99}) == 0U);
    BOOST_TEST(limiter.let_through(start + milliseconds{100}) == 3U);
    BOOST_TEST(limiter.let_through(start + milliseconds{150}) == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
