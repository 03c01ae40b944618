// The encoding of a class. It is unchanged since the first version, except for the policies that
// were added later.
#include <string>

#include <boost/test/unit_test.hpp>

#include "lock/records/records.hpp"

using namespace rocklock;
using namespace std::chrono_literals;

namespace {

// Returns a record of the first version: pattern "a", policy read_write, `steal` as given, a lease
// of 1 s, no other duration, a queue limit of 5, no permits, and a dependant "b" in `read`.
std::string written_before(char steal) {
    const std::string head(
        "\0\0\0\0\0\0\0\x09\x01"
        "a\x02",
        11);
    const std::string tail(
        "\xe8\x07\0\0\0\0\x05\0\x01\x01"
        "b\0",
        12);
    return head + steal + tail;
}

LockClass read_before(StealPolicy steal) {
    LockClass expected;
    expected.pattern = "a";
    expected.policy = Policy::read_write;
    expected.steal = steal;
    expected.lease = 1s;
    expected.queue_limit = 5;
    expected.dependants = {{"b", Mode::read}};
    return expected;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(the_record_of_a_class)

BOOST_AUTO_TEST_CASE(of_the_first_version_is_read_and_written_unchanged) {
    for (const StealPolicy steal : {StealPolicy::never, StealPolicy::anyone}) {
        const auto bytes = written_before(static_cast<char>(steal));
        const auto read = records::decode_class(bytes);
        BOOST_REQUIRE(read.has_value());
        BOOST_TEST((*read == read_before(steal)));
        BOOST_TEST(records::encode(*read, 9) == bytes);
    }
}

BOOST_AUTO_TEST_CASE(has_a_duration_if_its_policy_needs_one) {
    for (const StealPolicy steal : {StealPolicy::idle, StealPolicy::ask}) {
        const auto shorter = written_before(static_cast<char>(steal));
        BOOST_TEST(!records::decode_class(shorter).has_value());
        LockClass expected = read_before(steal);
        expected.steal_after = 2s;
        const auto bytes = records::encode(expected, 9);
        BOOST_TEST(bytes == shorter + "\xd0\x0f");
        BOOST_REQUIRE(records::decode_class(bytes).has_value());
        BOOST_TEST((records::decode_class(bytes) == expected));
    }
}

BOOST_AUTO_TEST_CASE(stores_whether_drafts_are_kept_in_its_last_byte) {
    const auto without = written_before(0);
    LockClass expected = read_before(StealPolicy::never);
    expected.drafts = true;
    const auto bytes = records::encode(expected, 9);
    BOOST_TEST(bytes == without + "\x01");
    BOOST_REQUIRE(records::decode_class(bytes).has_value());
    BOOST_TEST((records::decode_class(bytes) == expected));
    BOOST_TEST(!records::decode_class(without + "\x02").has_value());
    BOOST_TEST(!records::decode_class(bytes + "\x01").has_value());
    expected.steal = StealPolicy::ask;
    expected.steal_after = 2s;
    BOOST_TEST((records::decode_class(records::encode(expected, 9)) == expected));
}

BOOST_AUTO_TEST_CASE(with_an_unknown_policy_is_invalid) {
    BOOST_TEST(!records::decode_class(written_before(4)).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
