#include "client/boot_clock.hpp"

#include <chrono>
#include <optional>
#include <string>

#include <boost/test/unit_test.hpp>

using rocklock::BootTime;
using rocklock::check_boot_clock;
using rocklock::ErrorCode;
using rocklock::Pong;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

// Checks a Ping that was sent at 100.0005 s and answered at 100.7 s.
auto check(std::optional<milliseconds> theirs, const std::string& boot_of_daemon = {},
           const std::string& boot_of_client = {}) {
    Pong pong;
    pong.pid = 42;
    pong.boot_clock = theirs;
    pong.boot_id = boot_of_daemon;
    return check_boot_clock(pong, boot_of_client, BootTime(seconds{100} + microseconds{500}),
                            BootTime(milliseconds{100'700}), "/run/x.sock");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(a_boot_clock)

BOOST_AUTO_TEST_CASE(may_have_any_value_between_the_request_and_the_response) {
    for (const int theirs : {100'000, 100'001, 100'400, 100'700}) {
        BOOST_TEST(check(milliseconds{theirs}).has_value(), theirs);
    }
}

BOOST_AUTO_TEST_CASE(is_refused_if_the_round_trip_does_not_explain_it) {
    for (const int theirs : {0, 99'900, 100'800, 100'000'000}) {
        const auto checked = check(milliseconds{theirs});
        BOOST_REQUIRE(!checked.has_value());
        BOOST_TEST((checked.error().code == ErrorCode::invalid_argument));
        const auto& message = checked.error().message;
        BOOST_TEST(message.find("another time namespace") != std::string::npos);
        BOOST_TEST(message.find("nsenter --time --target 42") != std::string::npos);
        const auto where = theirs < 100'000 ? "ahead of that" : "behind that";
        BOOST_TEST(message.find(where) != std::string::npos, message);
    }
}

BOOST_AUTO_TEST_CASE(is_refused_if_it_belongs_to_another_boot) {
    const auto checked = check(milliseconds{100'400}, "boot-1", "boot-2");
    BOOST_REQUIRE(!checked.has_value());
    BOOST_TEST((checked.error().code == ErrorCode::invalid_argument));
    const auto& message = checked.error().message;
    for (const char* const part : {"/run/x.sock runs on another machine", "boot-1", "boot-2",
                                   "use a daemon on this machine"}) {
        BOOST_TEST(message.find(part) != std::string::npos, message);
    }
}

// A process in a time namespace with an offset does not know its boot.
BOOST_AUTO_TEST_CASE(alone_is_checked_if_a_boot_is_unknown) {
    BOOST_TEST(check(milliseconds{100'400}, "boot-1", "boot-1").has_value());
    BOOST_TEST(check(milliseconds{100'400}, "boot-1", "").has_value());
    BOOST_TEST(check(milliseconds{100'400}, "", "boot-2").has_value());
    BOOST_TEST(!check(milliseconds{0}, "boot-1", "").has_value());
}

BOOST_AUTO_TEST_CASE(is_not_checked_if_the_daemon_does_not_return_it) {
    BOOST_TEST(check(std::nullopt).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
